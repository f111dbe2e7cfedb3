/** Documented bodies, field by field. An undocumented member is a failure. */
import { z } from 'zod';

const text = z.string();

export const consoleSchema = z.strictObject({
  apiAddress: text,
  assetsHostPath: text,
  assetsURLPath: text,
  environment: z.array(z.strictObject({ key: text, value: text })),
  _: text,
  envsFilter: text,
  recurveIndex: z.boolean(),
});

export const envVarsSchema = z.record(text, text);

export const langsInfoSchema = z.strictObject({ availableLanguages: z.array(z.strictObject({ id: text, name: text })) });

export const loginInfoSchema = z.strictObject({ auth_url: text, logout_url: text.optional(), state: text });

export const renewPayloadSchema = z.strictObject({
  access_token: text.optional(),
  id_token: text.optional(),
  refresh_token: text.optional(),
  token_type: text.optional(),
  token_storage: text.optional(),
  issued_at: z.iso.datetime().optional(),
  expire_at: z.iso.datetime().optional(),
});

export type RenewPayload = z.infer<typeof renewPayloadSchema>;

/** The member `ext` is free-form: its contents are recognized by their form, never by a name. */
export const userInfoSchema = z.strictObject({
  name: text,
  uid: text,
  groups: z.array(text),
  ext: z.record(text, z.unknown()),
  email: text.optional(),
});

const causeSchema = z.strictObject({ reason: text.optional(), message: text.optional(), field: text.optional() });

export const statusSchema = z.strictObject({
  apiVersion: text.optional(),
  kind: text.optional(),
  code: z.int().optional(),
  status: z.enum(['Success', 'Failure']).optional(),
  reason: text.optional(),
  message: text.optional(),
  details: z
    .strictObject({
      name: text.optional(),
      group: text.optional(),
      kind: text.optional(),
      uid: text.optional(),
      causes: z.array(causeSchema).optional(),
      retryAfterSeconds: z.int().optional(),
    })
    .optional(),
  metadata: z
    .strictObject({
      continue: text.optional(),
      remainingItemCount: z.int().optional(),
      resourceVersion: text.optional(),
      selfLink: text.optional(),
    })
    .optional(),
});

/** Bodies of these operations are not documented: a client reads the members of any Kubernetes object. */
export const objectSchema = z.looseObject({ metadata: z.looseObject({ name: text }) });
export const rolesSchema = z.looseObject({ items: z.array(z.looseObject({ role: text })) });
export const listSchema = z.looseObject({ items: z.array(objectSchema) });

/** Returns the first value in a free-form object that has the form of a RenewPayload with a token to send. */
export function renewPayloadIn(value: unknown): RenewPayload | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const payload = renewPayloadSchema.safeParse(value);
  if (payload.success && payload.data.access_token !== undefined) return payload.data;
  return Object.values(value)
    .map(renewPayloadIn)
    .find((found) => found !== undefined);
}

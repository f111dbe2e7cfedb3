/** Bodies that create and change a User. Members that are listed but may not be set are refused. Other members are unknown. */
import { isDeepStrictEqual } from 'node:util';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { type FieldError, invalidValue } from '@atrium/objects/field-error.ts';
import { byService, forbiddenValue, givenTime, holdsAddress, kept, marks, noAddress, shownText } from '@atrium/objects/object-schemas.ts';
import { partsOf } from '@atrium/objects/reader.ts';
import { z } from 'zod';
import { maxTrustedTokens, trustedToken } from './record/federation.ts';
import { labelsToChange } from './record/labels.ts';
import { readUser, userApiVersion } from './record/schema.ts';

const maxExtraBytes = 16 * 1024;

const local = z
  .string()
  .refine((text) => text.toLowerCase() === 'local', forbiddenValue('only local users can be created'))
  .optional();

const displayName = shownText(128);

/** Refuses an e-mail address in a display name, unless it is the user's own, which is the default display name. */
export const nameViolations = (username: unknown, email: string): FieldError[] =>
  typeof username === 'string' && holdsAddress(username) && username.toLowerCase() !== email.toLowerCase()
    ? [invalidValue('spec.username', username, noAddress)]
    : [];

/** Limits of the custom resource definition. */
const mail = z
  .string()
  .max(253, 'may not be longer than 253 characters')
  .refine((text) => text === '' || text.includes('@'), 'must be empty or an e-mail address')
  .describe('E-mail address for notices.');
const mobile = z
  .string()
  .max(32, 'may not be longer than 32 characters')
  .regex(/^[0-9+() -]*$/, 'must be digits, spaces, +, - and brackets')
  .describe('Telephone number for notices.');
const account = z.string().max(253, 'may not be longer than 253 characters').describe('Login name at the source.');
const expired = z
  .strictObject({ begin: givenTime.optional(), end: givenTime.optional() })
  .refine(({ begin, end }) => begin === undefined || end === undefined || Date.parse(begin) < Date.parse(end), 'begin must lie before end')
  .describe('Period in which the user may log in. Default: unlimited.');
const extra = z
  .record(z.string(), z.unknown())
  .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= maxExtraBytes, `may not be larger than ${maxExtraBytes} bytes`)
  .describe('Fields of third parties, stored unchanged.');
const password = z.string().describe('Plain, or encrypted with the key of `GET /auth/v1/pubkey`. Never returned.');

const federation = z
  .array(trustedToken)
  .min(1, 'must not be empty')
  .max(maxTrustedTokens)
  .describe('Tokens that a machine user acts by, in place of a login.');

/** Fields whose values no message may contain. */
export const secretFields = ['spec.password', 'spec.old_password'];

const keptMembers = {
  ids: kept(byService),
  state: kept('follows is_disabled'),
  valid: kept(byService),
  groups: kept('groups come from the issuer or directory'),
};

const metadata = {
  labels: marks(z.string()).optional(),
  annotations: marks(z.string()).optional(),
  generateName: kept('a user is named by the e-mail address'),
  ownerReferences: kept('a user has no owner'),
  finalizers: kept('a user has no finalizers'),
};

/** Local user to create. */
export const newUserBody = z
  .strictObject({
    apiVersion: z.literal(userApiVersion).optional(),
    kind: z.literal('User').optional(),
    metadata: z
      .strictObject({
        ...metadata,
        name: z.string().optional().describe('Optional. Must follow the name rule.'),
        namespace: kept('a user has no namespace'),
        uid: kept(byService),
        resourceVersion: kept('must not be set when an object is created'),
        creationTimestamp: z.null(byService).optional(),
      })
      .optional(),
    spec: z.strictObject({
      email: z
        .string()
        .min(1, 'must not be empty')
        .max(253, 'may not be longer than 253 characters')
        .regex(
          /^[A-Za-z0-9.!#$%&'*+=?^_{|}~-]+(@[A-Za-z0-9.-]+)?$/,
          'must be an ASCII e-mail address or login name with one @ at most (domains in Unicode as xn--…)',
        )
        .describe('The login identity: an e-mail address or a plain login name.'),
      password: password.optional().describe('Plain, or encrypted with the key of `GET /auth/v1/pubkey`. Required without `federation`.'),
      federation: federation.optional(),
      must_change_password: z
        .boolean()
        .optional()
        .describe(
          'Requires a new password at the first login. Default: `users.passwordPolicy.changeOnFirstLogin`. Never returned: see `status.mustChangePassword`.',
        ),
      username: displayName.optional().describe('Display name. Default: the email.'),
      account: account.optional(),
      mail: mail.optional(),
      mobile: mobile.optional(),
      expired: expired.optional(),
      is_disabled: z.boolean().optional().describe('Creates the user disabled.'),
      extra: extra.optional(),
      ...keptMembers,
      is_admin: z
        .boolean()
        .refine((isAdmin) => !isAdmin, forbiddenValue('administrators are created at the installation or with kubectl'))
        .optional(),
      connector_type: local,
      connector_id: local,
      connector_name: local,
      old_password: kept('belongs to a change of a password'),
    }),
    status: kept(byService),
  })
  .meta({
    examples: [
      {
        apiVersion: userApiVersion,
        kind: 'User',
        spec: {
          email: 'jane@example.com',
          username: 'Jane Doe',
          password: 'correct horse battery',
          mobile: '+49 30 1234',
          expired: { end: '2026-12-31T23:59:59Z' },
        },
      },
    ],
  });

export type NewUser = z.output<typeof newUserBody>;

const never = 'cannot be changed';

/** Schema of a PATCH of a User, as a merge patch (RFC 7396). Null removes a member. */
export const userPatchBody = z
  .strictObject({
    apiVersion: z.literal(userApiVersion).optional(),
    kind: z.literal('User').optional(),
    metadata: z
      .strictObject({
        name: z.string().optional().describe('Optional. Must equal the name in the path.'),
        resourceVersion: z.string().optional().describe('Expected version. Another version is a conflict.'),
        uid: z.string().optional(),
        labels: kept('labels are kept by the service'),
        annotations: kept(never),
        generateName: kept(never),
        ownerReferences: kept(never),
        finalizers: kept(never),
        namespace: kept(never),
        creationTimestamp: kept(never),
      })
      .optional(),
    spec: z
      .strictObject({
        username: displayName.min(1, 'must not be empty').optional(),
        password: password.optional(),
        old_password: password.optional().describe('Current password, required for users who change their own.'),
        must_change_password: kept('belongs to the creation of a user: users.passwordPolicy.changeAfterReset decides about a new password'),
        mail: mail.nullable().optional(),
        mobile: mobile.nullable().optional(),
        account: account.nullable().optional(),
        expired: expired.nullable().optional(),
        federation: federation.optional(),
        is_disabled: z.boolean().optional().describe('`false` also ends a lock, an idle state and an expired validity.'),
        ...keptMembers,
        email: kept(never),
        is_admin: kept(never),
        connector_type: kept(never),
        connector_id: kept(never),
        connector_name: kept(never),
        extra: kept(never),
      })
      .optional(),
    status: kept(byService),
  })
  .meta({ id: 'UserPatch' });

export type UserPatch = z.output<typeof userPatchBody>;

export const hasPassed = (time: string | undefined, now: Date) => time !== undefined && Date.parse(time) <= now.getTime();

/** Returns the changes of the spec and of its labels, or undefined if the spec does not change. */
export function userChanges(object: KubernetesObject, { spec = {} }: UserPatch, now: Date) {
  const { spec: old = {} } = partsOf(object);
  const { password: _password, old_password: _oldPassword, is_disabled, expired, ...plain } = spec;
  const wanted: Record<string, unknown> = {
    ...plain,
    ...(is_disabled !== undefined && { is_disabled, state: is_disabled ? 'inactive' : 'active' }),
    // The validity is replaced as a whole. Missing members are removed.
    ...(expired !== undefined && { expired: expired && { begin: null, end: null, ...expired } }),
  };
  const isEnabled = is_disabled === false && expired === undefined;
  if (isEnabled && hasPassed(readUser(object).spec?.expired?.end, now)) wanted.expired = null;
  const changes = Object.fromEntries(
    Object.entries(wanted).filter(([key, value]) => !isDeepStrictEqual(value ?? undefined, old[key] ?? undefined)),
  );
  if (Object.keys(changes).length === 0) return undefined;
  const labels = labelsToChange(object.metadata.labels, readUser({ spec: { ...old, ...changes } }).spec);
  return { metadata: { ...(labels && { labels }) }, spec: changes };
}

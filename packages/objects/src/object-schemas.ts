/** Common members of Kubernetes objects in bodies and answers. */
import { z } from 'zod';
import { subdomainPattern } from './labels.ts';
import { withoutBlanks } from './typed-text.ts';

const time = z.iso.datetime();
const texts = z.record(z.string(), z.string());

/** @see https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/ */
export const objectMeta = z
  .object({
    name: z.string(),
    namespace: z.string().optional(),
    generateName: z.string().optional(),
    uid: z.string(),
    resourceVersion: z.string().optional().describe('Missing in the answer to a dry run of a creation.'),
    generation: z.int().optional().describe('Incremented by each change of `spec`.'),
    creationTimestamp: time,
    deletionTimestamp: time.optional().describe('Time of the deletion request.'),
    deletionGracePeriodSeconds: z.int().optional(),
    labels: texts.optional(),
    annotations: texts.optional(),
    finalizers: z.array(z.string()).optional().describe('Finalizers, which delay the deletion.'),
    ownerReferences: z
      .array(
        z.object({
          apiVersion: z.string(),
          kind: z.string(),
          name: z.string(),
          uid: z.string(),
          controller: z.boolean().optional(),
          blockOwnerDeletion: z.boolean().optional(),
        }),
      )
      .optional()
      .describe('Owners. The object is deleted after its owners.'),
    managedFields: z
      .array(
        z.object({
          manager: z.string().optional(),
          operation: z.string().optional(),
          subresource: z.string().optional(),
          apiVersion: z.string().optional(),
          time: time.optional(),
          fieldsType: z.string().optional(),
          fieldsV1: z.looseObject({}).optional(),
        }),
      )
      .optional()
      .describe('Set only in answers of the API server, below `/apis`.'),
  })
  .meta({ id: 'ObjectMeta' });

/** Name of the cluster that the service is in, the only one that it serves. */
export const localCluster = 'local';

/** Cluster of an object of ours. Stored objects do not name it: they are of the local one. */
export const clusterMember = z
  .literal(localCluster, `must be ${localCluster}: the service serves one cluster`)
  .optional()
  .describe('Cluster that this is for: `local`, that of the service.');

/** @see https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/condition/ */
export const conditions = z
  .array(
    z
      .object({
        type: z.string(),
        status: z.enum(['True', 'False', 'Unknown']),
        reason: z.string(),
        message: z.string(),
        lastTransitionTime: time,
        observedGeneration: z.int().optional(),
      })
      .meta({ id: 'Condition' }),
  )
  .describe('Conditions, unique by type.');

/** Name of an object (RFC 1123): one or more DNS labels, at most 253 characters. */
export const objectName = z
  .string()
  .max(253, 'may not be longer than 253 characters')
  .regex(subdomainPattern, 'must be a DNS subdomain: lower-case letters, digits, - and .');

/** Schema of a member that exists, but is not set by callers. @param why text of the violation (see `readObject`) */
export const kept = (why: string) => z.never(why).optional();

export const byService = 'is kept by the service';

/** Refuses a value as forbidden instead of invalid. */
export const forbiddenValue = (error: string) => ({ error, params: { isForbidden: true } });

const ownKeys = /^([^/]+\.)?auth\.platform\.io\//;

/** Labels or annotations of a caller. */
export const marks = <Value extends z.ZodType>(value: Value) =>
  z
    .record(z.string(), value)
    .refine(
      (given) => !Object.keys(given).some((key) => ownKeys.test(key)),
      forbiddenValue('keys below auth.platform.io/ are reserved for the service'),
    );

/** Time of a caller. */
export const givenTime = z.iso.datetime({ offset: true, error: 'must be a time such as 2026-12-31T23:59:59Z (RFC 3339)' });

/** Control characters, line separators, direction marks, and characters without a glyph. */
const disguises = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]/u;
const allDisguises = new RegExp(disguises, 'gu');
const address = /[^\s@]@[^\s@]/;

/** Reports whether a text contains an e-mail address. */
export const holdsAddress = (text: string): boolean => address.test(text);
export const noAddress = 'may not hold an e-mail address: it would be taken for that person';

/** Cleans a text of an issuer or a directory, which a refusal would not change. */
export const cleaned = (text: string): string => text.toWellFormed().replaceAll(allDisguises, '').trim();

/** A text of one line, whose length is checked elsewhere. */
const singleLine = (text: z.ZodString) =>
  text.refine((given) => given.isWellFormed() && !disguises.test(given), 'may not hold control, zero-width or direction characters');

/** A text of one line that others read, without blanks around it. */
export const shownText = (maxCharacters: number, text = z.string()) =>
  singleLine(
    text.overwrite(withoutBlanks).refine(
      // A character has at most two code units, so a longer text is refused without splitting it.
      (given) => given.length <= 2 * maxCharacters && [...given].length <= maxCharacters,
      `may not be longer than ${maxCharacters} characters`,
    ),
  );

/** A text of one line that names or describes anything but a person. */
export const shownLabel = (maxCharacters: number, text?: z.ZodString) =>
  shownText(maxCharacters, text).refine((given) => !holdsAddress(given), noAddress);

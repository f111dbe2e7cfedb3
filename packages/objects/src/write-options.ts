/** Options of requests that create, change or delete an object, as in Kubernetes. */
import { z } from 'zod';
import type { FieldValidation } from './validation.ts';

/** A request that writes an object. */
export interface WriteRequest {
  body: unknown;
  isDryRun: boolean;
  fieldValidation: FieldValidation;
}

/** Bounds of a text and of all texts of an answer, in characters, like the API server's. */
const maxText = 256;
const maxTotal = 4096;

/**
 * Returns the values of `Warning` headers (code 299, RFC 7234 section 5.5). Characters outside of printable ASCII are escaped as `\u` and
 * four hexadecimal digits. Long texts are cut, and texts beyond 4 KiB are dropped.
 */
export function warningHeaders(texts: readonly string[]): string[] {
  let room = maxTotal;
  const headers: string[] = [];
  for (const text of texts) {
    const shown = text.slice(0, maxText).replaceAll(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
    const header = `299 - ${JSON.stringify(shown)}`;
    room -= header.length;
    if (room < 0) break;
    headers.push(header);
  }
  return headers;
}

export const dryRun = z.enum(['All'], 'must be All').optional().describe('Checks everything and changes nothing.');

/** Query of creations and changes. */
export const writeQuery = z.object({
  dryRun,
  fieldValidation: z
    .enum(['Strict', 'Warn', 'Ignore'])
    .default('Strict')
    .describe('Treatment of unknown fields: `Strict` refuses them, `Warn` drops them with a warning, `Ignore` drops them.'),
});

/**
 * Body of a deletion.
 *
 * @see https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/delete-options/
 */
export const deleteOptions = z
  .looseObject({
    preconditions: z.object({ uid: z.string().nullish(), resourceVersion: z.string().nullish() }).nullish(),
    dryRun: z.array(z.literal('All')).nullish(),
  })
  .optional()
  .meta({ examples: [{ preconditions: { resourceVersion: '51702' } }] });

/** Combines the query and the body of a deletion. */
export function deletionOf(query: { dryRun?: 'All' | undefined }, body: z.output<typeof deleteOptions>) {
  const { uid, resourceVersion } = body?.preconditions ?? {};
  return {
    isDryRun: query.dryRun !== undefined || (body?.dryRun?.length ?? 0) > 0,
    preconditions: { uid: uid ?? undefined, resourceVersion: resourceVersion ?? undefined },
  };
}

interface Version {
  uid?: string | undefined;
  resourceVersion?: string | undefined;
}

/** Reports whether a change applies to a single version, which must then be sent to the API server. */
export const requiresVersion = (asked: Version | undefined, ifMatch: string | undefined): boolean =>
  asked?.resourceVersion !== undefined || (ifMatch !== undefined && ifMatch.trim() !== '*');

/** Reports whether the object has the version that the change requires, in its metadata or in an `If-Match` header. */
export function isVersionAsked(metadata: Required<Version>, asked: Version | undefined, ifMatch: string | undefined): boolean {
  const tag = ifMatch?.trim();
  const wanted = [asked?.resourceVersion, tag === undefined || tag === '*' ? undefined : tag.replace(/^"(.*)"$/, '$1')];
  return (
    wanted.every((version) => version === undefined || version === metadata.resourceVersion) &&
    (asked?.uid === undefined || asked.uid === metadata.uid)
  );
}

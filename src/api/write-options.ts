/** Options of requests that create, change or delete an object, as in Kubernetes. */
import { z } from 'zod';

export const dryRun = z.enum(['All'], 'must be All').optional().describe('Everything is checked and nothing changes.');

/** Query of creations and changes. */
export const writeQuery = z.object({
  dryRun,
  fieldValidation: z
    .enum(['Strict', 'Warn', 'Ignore'])
    .default('Strict')
    .describe('What becomes of unknown fields: refused, dropped with a warning, or dropped.'),
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
export const isOfOneVersion = (asked: Version | undefined, ifMatch: string | undefined): boolean =>
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

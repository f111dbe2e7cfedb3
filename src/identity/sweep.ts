import { mapLimit } from '@atrium/http/limits/semaphore.ts';
import type { Sweep } from '@atrium/kubernetes/controllers/sweeper.ts';
import type { ServiceClient } from '@atrium/kubernetes/own-account.ts';
import { resourcePath } from '@atrium/kubernetes/resource.ts';
import { ServiceResource } from '@atrium/kubernetes/resource-client.ts';
import { z } from 'zod';
import { identityRecordKind } from './records.ts';

const deletionsAtOnce = 16;
const defaultPageSize = 500;

/** Name, version and printed columns of each record, without its sealed content. */
const recordTable = z.object({
  metadata: z.object({ continue: z.string().optional() }),
  columnDefinitions: z.array(z.object({ name: z.string() })),
  rows: z.array(
    z.object({
      cells: z.array(z.unknown()),
      object: z.object({ metadata: z.object({ name: z.string(), resourceVersion: z.string() }) }),
    }),
  ),
});

interface SweepParts {
  client: ServiceClient;
  namespace: string;
  now: () => Date;
}

/** Deletes IdentityRecords that have expired. */
export function recordSweep({ client, namespace, now }: SweepParts, pageSize = defaultPageSize): Sweep {
  const records = new ServiceResource(client, { ...identityRecordKind, namespace });
  const pageAfter = async (rest: string, signal: AbortSignal) =>
    recordTable.parse(
      await client.request({
        method: 'GET',
        path: resourcePath(identityRecordKind.type, { namespace }),
        query: new URLSearchParams({ limit: String(pageSize), ...(rest && { continue: rest }) }),
        accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
        call: 'list identityrecords',
        signal,
      }),
    );
  return {
    what: 'identity records',
    everyMs: 5 * 60_000,
    async sweep(signal) {
      let deleted = 0;
      let rest: string | undefined = '';
      while (rest !== undefined) {
        const page = await pageAfter(rest, signal);
        const column = page.columnDefinitions.findIndex(({ name }) => name === 'Expires');
        const expired = page.rows.filter(({ cells }) => Date.parse(String(cells[column])) < now().getTime());
        await mapLimit(deletionsAtOnce, expired, async ({ object: { metadata } }) => {
          // A session that was renewed meanwhile has another version, and is not deleted.
          const preconditions = { resourceVersion: metadata.resourceVersion };
          if (await records.remove(metadata.name, { preconditions, signal })) deleted += 1;
        });
        rest = page.metadata.continue || undefined;
      }
      return deleted;
    },
  };
}

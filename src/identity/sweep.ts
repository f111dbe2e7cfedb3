import type { Logger } from 'pino';
import { z } from 'zod';
import { StatusError } from '../api/status.ts';
import type { ServiceClient } from '../kubernetes/api-server.ts';
import { resourcePath } from '../kubernetes/resource.ts';
import type { ServerClock } from '../kubernetes/server-clock.ts';
import { identityRecordResource } from './records.ts';

const everyMs = 5 * 60_000;
const deletionsAtOnce = 16;

/** Name, version and the printed columns of each record: what is sealed in it is not fetched. */
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

interface SweepOptions {
  client: ServiceClient;
  namespace: string;
  log: Logger;
  /** Whose time is the right one: what others still use must not go. */
  serverClock: Pick<ServerClock, 'isTrusted' | 'failure'>;
  now: () => Date;
  pageSize?: number;
}

/** Deletes records that have expired. Every replica does so now and then, at a moment of its own; two that meet do no harm. */
export class RecordSweep {
  readonly #options: SweepOptions;
  readonly #stopped = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: SweepOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setTimeout(
      () => {
        this.#running = this.run()
          .catch((error: unknown) => {
            if (!this.#stopped.signal.aborted) this.#options.log.warn({ err: error }, 'expired identity records could not be deleted');
          })
          .then(() => {
            if (!this.#stopped.signal.aborted) this.start();
          });
      },
      everyMs * (0.5 + Math.random()),
    ).unref();
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#stopped.abort(new Error('the service stops'));
    await this.#running;
  }

  /** One pass over all records. */
  async run(): Promise<void> {
    const { serverClock, log } = this.#options;
    if (!serverClock.isTrusted) return log.warn({ why: serverClock.failure() }, 'no identity record is deleted by the time');
    let rest: string | undefined = '';
    while (rest !== undefined) {
      const page = recordTable.parse(await this.#page(rest));
      const column = page.columnDefinitions.findIndex(({ name }) => name === 'Expires');
      const now = this.#options.now().getTime();
      const expired = page.rows.filter(({ cells }) => Date.parse(String(cells[column])) < now);
      while (expired.length > 0) await Promise.all(expired.splice(0, deletionsAtOnce).map(({ object }) => this.#remove(object.metadata)));
      rest = page.metadata.continue || undefined;
    }
  }

  #page(rest: string): Promise<unknown> {
    const { client, namespace, pageSize = 500 } = this.#options;
    return client.request({
      method: 'GET',
      path: resourcePath(identityRecordResource, { namespace }),
      query: new URLSearchParams({ limit: String(pageSize), ...(rest && { continue: rest }) }),
      accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
      call: 'list identityrecords',
      signal: this.#stopped.signal,
    });
  }

  async #remove({ name, resourceVersion }: { name: string; resourceVersion: string }): Promise<void> {
    const { client, namespace } = this.#options;
    try {
      await client.request({
        method: 'DELETE',
        path: resourcePath(identityRecordResource, { namespace, name }),
        // A session that was just renewed is not the one that had expired.
        body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { resourceVersion } },
        call: 'delete identityrecords',
        signal: this.#stopped.signal,
      });
    } catch (error) {
      if (!(error instanceof StatusError && [404, 409].includes(error.status.code))) throw error;
    }
  }
}

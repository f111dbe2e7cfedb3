import { Readable } from 'node:stream';
import type { AuditStore, ChainPart } from '@atrium/audit-store/store.ts';
import type { Caller } from '@atrium/http/caller.ts';
import { StatusError } from '@atrium/objects/status.ts';
import type { Services } from '../services.ts';
import type { Checkpoints, KeptCheckpoints } from './checkpoints.ts';

const audits = { verb: 'list', group: 'auth.platform.io', resource: 'audits' };

/** Events in one call of the store. */
const pageSize = 500;

interface ChainParts {
  /** Undefined for an installation that keeps no events. */
  store: AuditStore | undefined;
  checkpoints: Checkpoints | undefined;
}

/** The whole audit with its proof, for callers who may list audits of the cluster. */
export class AuditChain {
  readonly #access: Services['access'];
  readonly #log: Services['log'];
  readonly #parts: ChainParts;

  constructor({ access, log }: Services, parts: ChainParts) {
    this.#access = access;
    this.#log = log;
    this.#parts = parts;
  }

  /** @throws StatusError 403, 404, 503, 504 */
  async checkpoints(caller: Caller, signal: AbortSignal): Promise<KeptCheckpoints> {
    const { checkpoints } = await this.#require(caller, signal);
    return checkpoints.kept(signal);
  }

  /**
   * Returns the audit as lines of JSON: the checkpoints with their keys, the events in the order of their arrival, and the number of the last
   * one. The reader holds a page of events at most, and ends when it is destroyed.
   *
   * @throws StatusError 403, 404, 503, 504
   */
  async lines(caller: Caller, signal: AbortSignal): Promise<Readable> {
    const { store, checkpoints } = await this.#require(caller, signal);
    // A checkpoint that the store knows is kept by now, and later checkpoints have their events on the pages that follow.
    const first = await store.chain(0, pageSize);
    const { checkpoints: kept, keys } = await checkpoints.kept(signal);
    const head = { checkpoints: kept.map(({ signed }) => signed), keys, ...(first.newest !== undefined && { newest: first.newest }) };
    const lines = Readable.from(this.#lines(store, first, head), { objectMode: false });
    lines.on('error', (error) => this.#log.warn({ err: error }, 'stream of the audit has ended early'));
    return lines;
  }

  async *#lines(store: AuditStore, first: ChainPart, head: object): AsyncGenerator<string> {
    yield `${JSON.stringify(head)}\n`;
    let last = 0;
    for (let page = first; page.events.length > 0; page = await pageAfter(store, last)) {
      yield page.events.map((event) => `${JSON.stringify(event)}\n`).join('');
      last = page.events.at(-1)?.sequence ?? last;
    }
    yield `${JSON.stringify({ last })}\n`;
  }

  async #require(caller: Caller, signal: AbortSignal) {
    const { store, checkpoints } = this.#parts;
    if (store === undefined || checkpoints === undefined) throw new StatusError(404, 'NotFound', 'this installation keeps no audit events');
    await this.#access.require(caller, audits, signal);
    return { store, checkpoints };
  }
}

/** @throws Error if the removal of expired events has overtaken the reader, which would take them for missing ones */
async function pageAfter(store: AuditStore, last: number): Promise<ChainPart> {
  const page = await store.chain(last, pageSize);
  const next = page.events[0]?.sequence ?? last + 1;
  if (next === last + 1) return page;
  const oldest = (await store.chain(0, 1)).events[0]?.sequence ?? 0;
  if (oldest > last + 1) throw new Error(`expired events after ${last} were removed before they were read`);
  return page;
}

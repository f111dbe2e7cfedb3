import { setTimeout as sleep } from 'node:timers/promises';
import { type Checkpoint, nothingRemoved, type RemovedEvents, removedIn } from '@atrium/audit-store/chain.ts';
import { signedCheckpoint, verifiedCheckpoint } from '@atrium/audit-store/signed-checkpoints.ts';
import type { AuditStore, Proposal } from '@atrium/audit-store/store.ts';
import type { Counter } from '@atrium/http/telemetry/metrics.ts';
import { HeldLock, LeaseLock } from '@atrium/kubernetes/controllers/lease-lock.ts';
import type { JWK } from 'jose';
import { z } from 'zod';
import type { Services } from '../services.ts';

const annotation = 'auth.platform.io/audit-checkpoints';
/** Newest checkpoints that are kept, and days whose last one is. Each takes 600 bytes of the Lease. */
const maxRecent = 20;
const maxDays = 100;

/** A checkpoint with its signature. */
export interface KeptCheckpoint extends Checkpoint {
  signed: string;
}

/** Checkpoints with the public keys that verify them. */
export interface KeptCheckpoints {
  checkpoints: KeptCheckpoint[];
  keys: JWK[];
}

/** State of the checkpoints, as the last attempt of this replica has found it. */
export interface CheckpointState {
  /** `Refused`: the store contradicts a kept checkpoint. `Failed`: the store or the Lease is not available. */
  state: 'Signed' | 'Failed' | 'Refused' | 'Unknown';
  reason: string | undefined;
  /** Newest checkpoint. */
  newest: Pick<Checkpoint, 'sequence' | 'time'> | undefined;
  /** Number of the events after it. */
  eventsAfter: number | undefined;
}

/**
 * Signs checkpoints of the audit, and keeps them in a Lease that one replica at a time holds, out of reach of the database and of the
 * process that owns it. A store that contradicts a kept checkpoint gets no further one. Each checkpoint tells through which event the
 * retention may remove events, so that any other removal is a gap.
 */
export class Checkpoints {
  readonly #services: Services;
  readonly #propose: AuditStore['propose'];
  readonly #lock: LeaseLock;
  readonly #made: Counter<'outcome'>;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #failure: string | undefined;
  #found: CheckpointState = { state: 'Unknown', reason: undefined, newest: undefined, eventsAfter: undefined };

  constructor(services: Services, propose: AuditStore['propose']) {
    const { client, namespace, log, now, metrics } = services;
    this.#services = services;
    this.#propose = propose;
    this.#lock = new LeaseLock({ client, namespace, log, now, name: 'atrium-audit' });
    this.#made = metrics.counter({
      name: 'atrium_audit_checkpoints_total',
      help: 'Checkpoints of the audit by outcome (signed, failed, refused: the store contradicts a kept one).',
      labelNames: ['outcome'],
    });
    // The counter begins at 0, so that `increase()` sees the first refusal.
    for (const outcome of ['signed', 'failed', 'refused']) this.#made.inc({ outcome }, 0);
  }

  start(): void {
    this.#running ??= this.#repeat(this.#stopping.signal);
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the service stops'));
    await this.#running;
  }

  /** Returns the reason why the last attempt made no checkpoint; undefined if it was made, or no event is new. */
  readonly failure = (): string | undefined => this.#failure;

  readonly state = (): CheckpointState => this.#found;

  /** Returns the kept checkpoints, the oldest first. @throws StatusError 503, 504 */
  async kept(signal: AbortSignal): Promise<KeptCheckpoints> {
    const { notes } = await this.#lock.look(signal);
    const keys = await this.#services.keyRing.auditKeys();
    return { checkpoints: await checkpointsIn(notes, keys), keys: keys.map(({ d: _private, ...key }) => key) };
  }

  async #repeat(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#attempt(signal);
      await sleep(this.#services.config.audit.checkpointInterval, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  async #attempt(signal: AbortSignal): Promise<void> {
    try {
      await this.#signNews(signal);
      if (this.#failure !== undefined) this.#services.log.info('checkpoints of the audit are signed again');
      this.#failure = undefined;
      this.#found = { ...this.#found, state: 'Signed', reason: undefined };
    } catch (error) {
      if (signal.aborted) return;
      const isRefusal = error instanceof ContradictionError;
      this.#made.inc({ outcome: isRefusal ? 'refused' : 'failed' });
      const reason = error instanceof Error ? error.message : 'unknown error';
      // An outage is logged once, not at each attempt.
      if (reason !== this.#failure)
        this.#services.log[isRefusal ? 'error' : 'warn']({ err: error }, 'checkpoint of the audit was not signed');
      this.#failure = reason;
      this.#found = { ...this.#found, state: isRefusal ? 'Refused' : 'Failed', reason };
    }
  }

  /** Signs what the store proposes. Without news the Lease is only read. */
  async #signNews(signal: AbortSignal): Promise<void> {
    const { notes } = await this.#lock.look(signal);
    const keys = await this.#services.keyRing.auditKeys();
    const seen = await checkpointsIn(notes, keys);
    const news = await this.#proposalFor(seen);
    this.#find(seen, news);
    if (!hasNews(seen, news)) return;
    const held = await this.#lock.take(signal);
    if (!(held instanceof HeldLock)) return;
    let changed = {};
    try {
      const kept = await checkpointsIn(held.notes, keys);
      const proposal = await this.#proposalFor(kept);
      requireAgreement(kept, proposal);
      const signed = await this.#signed(kept, proposal, keys[0]);
      held.signal.throwIfAborted();
      const all = thinned([...kept, ...signed], proposal.start);
      changed = { [annotation]: JSON.stringify(all.map((made) => made.signed)) };
      this.#find(all, proposal);
    } finally {
      await held.end(changed);
    }
  }

  #find(kept: readonly KeptCheckpoint[], { end }: Proposal): void {
    const newest = kept.at(-1);
    const eventsAfter = end && Math.max(0, end.sequence - (newest?.sequence ?? 0));
    this.#found = { ...this.#found, newest: newest && { sequence: newest.sequence, time: newest.time }, eventsAfter };
  }

  #proposalFor(kept: readonly KeptCheckpoint[]): Promise<Proposal> {
    const removable = removedIn(kept)?.sequence;
    return this.#propose(numbersOf(kept), removable === undefined ? undefined : { removable });
  }

  async #signed(kept: readonly KeptCheckpoint[], proposal: Proposal, key: JWK): Promise<KeptCheckpoint[]> {
    const { now, log } = this.#services;
    const removed = removedAfter(kept, proposal);
    const made: KeptCheckpoint[] = [];
    for (const proposed of newIn(kept, proposal)) {
      const checkpoint = { ...proposed, time: now().toISOString(), ...(removed && { removed }) };
      const signed = await signedCheckpoint(checkpoint, key);
      made.push({ ...checkpoint, signed });
      // A reader of logs can prove a rollback of the database and of the Lease.
      log.info({ ...checkpoint, signed }, 'checkpoint of the audit is signed');
      this.#made.inc({ outcome: 'signed' });
    }
    return made;
  }
}

/** The store does not have what a kept checkpoint says. */
class ContradictionError extends Error {
  override readonly name = 'ContradictionError';
}

const numbersOf = (kept: readonly KeptCheckpoint[]): number[] => kept.map(({ sequence }) => sequence);

const texts = z.array(z.string().max(2_000)).max(1_000);

/** Returns the checkpoints in the annotations of the Lease that have a valid signature, in the order of their events. */
async function checkpointsIn(notes: Readonly<Record<string, string>>, keys: readonly JWK[]): Promise<KeptCheckpoint[]> {
  const kept: KeptCheckpoint[] = [];
  for (const signed of textsIn(notes[annotation])) {
    const checkpoint = await verifiedCheckpoint(signed, keys);
    if (checkpoint !== undefined) kept.push({ ...checkpoint, signed });
  }
  return kept.toSorted((one, other) => one.sequence - other.sequence);
}

function textsIn(text: string | undefined): string[] {
  try {
    return texts.parse(JSON.parse(text ?? '[]'));
  } catch {
    return [];
  }
}

function hasNews(kept: readonly KeptCheckpoint[], proposal: Proposal): boolean {
  const { newest } = proposal;
  const last = kept.at(-1);
  return newIn(kept, proposal).length > 0 || newest?.sequence !== last?.sequence || newest?.hash !== last?.hash || isCut(kept, proposal);
}

/** Returns the proposed checkpoints that are to be signed: a cut is signed again where a kept checkpoint does not let its events be removed. */
function newIn(kept: readonly KeptCheckpoint[], { cut, end }: Proposal): Checkpoint[] {
  const known = new Set(numbersOf(kept));
  const removed = removedIn(kept)?.sequence ?? 0;
  return [...(cut !== undefined && cut.sequence > removed ? [cut] : []), ...(end !== undefined && !known.has(end.sequence) ? [end] : [])];
}

/**
 * Returns the events that further checkpoints let the retention remove; undefined with a store of an earlier version, which removes others.
 * The first such checkpoint takes the begin of the store as it is, after what checkpoints of earlier versions allow.
 */
function removedAfter(kept: readonly KeptCheckpoint[], { cut, first }: Proposal): RemovedEvents | undefined {
  if (first === undefined) return removedIn(kept);
  const before =
    removedIn(kept) ?? (first.sequence === 1 ? nothingRemoved : (kept.find(({ sequence }) => sequence >= first.sequence - 1) ?? first));
  const { sequence, hash } = cut !== undefined && cut.sequence > before.sequence ? cut : before;
  return { sequence, hash };
}

/** Reports whether events were removed that no checkpoint let the retention remove. */
function isCut(kept: readonly KeptCheckpoint[], { first }: Proposal): boolean {
  const removed = removedIn(kept);
  return removed !== undefined && first !== undefined && first.sequence > removed.sequence + 1;
}

/** @throws ContradictionError if the store, or the kept checkpoints, were rolled back, cut or changed */
function requireAgreement(kept: readonly KeptCheckpoint[], proposal: Proposal): void {
  const { newest, first } = proposal;
  const last = kept.at(-1);
  if (newest !== undefined && newest.sequence > (last?.sequence ?? 0))
    throw new ContradictionError(`the Lease atrium-audit lacks the checkpoint at event ${newest.sequence}, which the store knows`);
  if (isCut(kept, proposal))
    throw new ContradictionError(
      `the store begins at event ${first?.sequence}, and no signed checkpoint allows the removal of event ${(removedIn(kept)?.sequence ?? 0) + 1}: docs/audit.md has the steps after an earlier version`,
    );
  if (last === undefined || newest?.hash === last.hash) return;
  const found = newest?.hash === '' ? 'is missing in the store' : 'is another one in the store';
  throw new ContradictionError(`event ${last.sequence} of the audit, which has a signed checkpoint, ${found}`);
}

/** Returns the newest checkpoints, the last one of each day, and the one after which the chain begins. The last one of a number counts. */
function thinned(all: readonly KeptCheckpoint[], start: number): KeptCheckpoint[] {
  const begin = removedIn(all)?.sequence ?? start;
  const ofNumbers = new Map(all.filter(({ sequence }) => sequence >= begin).map((made) => [made.sequence, made]));
  const usable = [...ofNumbers.values()].toSorted((one, other) => one.sequence - other.sequence);
  const ofDays = new Map(usable.map((made) => [made.time.slice(0, 10), made]));
  const chosen = new Set([...usable.slice(0, 1), ...[...ofDays.values()].slice(-maxDays), ...usable.slice(-maxRecent)]);
  return usable.filter((made) => chosen.has(made));
}

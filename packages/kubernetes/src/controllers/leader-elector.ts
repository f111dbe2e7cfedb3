import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { ServiceClient } from '../own-account.ts';
import { isRefusal } from '../upstream-error.ts';
import { type FoundLease, LeaseObject } from './lease-lock.ts';

export interface LeaderElectorOptions {
  client: ServiceClient;
  namespace: string;
  name: string;
  log: Logger;
  /** Time in seconds after which a holder that does not renew the Lease is replaced. */
  durationSeconds?: number;
  now: () => Date;
  /** Monotonic clock, in milliseconds. */
  clock?: () => number;
}

/**
 * Elects a leader for work that must not be done twice: the holder of the Lease renews it, and another replica takes it if it was not
 * renewed for its duration. A holder that cannot renew stops before that. Times of other replicas are not trusted: a Lease is old if this
 * replica has not seen it change for that long.
 *
 * @see https://kubernetes.io/docs/concepts/architecture/leases/
 */
export class LeaderElector {
  readonly #options: LeaderElectorOptions;
  readonly #object: LeaseObject;
  readonly #identity = `atrium-${randomUUID()}`;
  readonly #durationMs: number;
  /** Time after a renewal in which this replica still counts as the holder. */
  readonly #keepMs: number;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #seen: { resourceVersion: string; at: number } | undefined;
  /** The Lease as this replica wrote it last. Unset after a failure. */
  #own: FoundLease | undefined;
  /** Message of the permission that was missing at the last attempt. */
  #lacks: string | undefined;

  constructor(options: LeaderElectorOptions) {
    this.#options = options;
    this.#object = new LeaseObject(options);
    this.#durationMs = (options.durationSeconds ?? 15) * 1000;
    this.#keepMs = (this.#durationMs * 2) / 3;
  }

  /**
   * Runs `work` whenever this replica holds the Lease, until `stop`. Its signal aborts when the Lease is lost.
   *
   * @param work must not throw, and must end soon after its signal
   */
  start(work: (signal: AbortSignal) => Promise<void>): void {
    this.#running ??= this.#loop(work);
  }

  /** Releases the Lease, so that another replica need not wait. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the service stops'));
    await this.#running;
  }

  async #loop(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { signal } = this.#stopping;
    const pauseMs = this.#durationMs / 5;
    while (!signal.aborted) {
      const begunAt = this.#clock();
      if (await this.#hold(signal)) await this.#whileHeld(work, begunAt);
      await pause(pauseMs * (0.8 + 0.4 * Math.random()), signal);
    }
  }

  /** @param heldSince before the Lease was written: another replica counts the duration from the write, not from its answer */
  async #whileHeld(work: (signal: AbortSignal) => Promise<void>, heldSince: number): Promise<void> {
    const lost = new AbortController();
    const signal = AbortSignal.any([lost.signal, this.#stopping.signal]);
    const working = work(signal);
    // Another replica takes the Lease after the whole duration. This one must have stopped by then.
    let endsAt = heldSince + this.#keepMs;
    while (!signal.aborted) {
      await pause(this.#durationMs / 5, signal);
      if (signal.aborted) break;
      const begunAt = this.#clock();
      const deadline = AbortSignal.timeout(Math.max(0, Math.ceil(endsAt - begunAt)));
      const isHeld = await this.#hold(AbortSignal.any([signal, deadline]));
      if (isHeld) endsAt = begunAt + this.#keepMs;
      else if (isHeld === false || deadline.aborted || this.#clock() >= endsAt) lost.abort(new Error('another replica holds the Lease'));
    }
    await working;
    if (!lost.signal.aborted) await this.#giveBack();
  }

  /**
   * Takes or renews the Lease. Like client-go, a holder renews the version that it wrote, and reads the Lease only after a
   * conflict or a failure.
   *
   * @returns whether this replica holds it; undefined if that is unknown
   */
  async #hold(signal: AbortSignal): Promise<boolean | undefined> {
    const own = this.#own;
    this.#own = undefined;
    try {
      if (own !== undefined && (await this.#write(own, this.#identity, signal))) return true;
      const found = await this.#object.read(signal);
      if (found === undefined) return await this.#write(undefined, this.#identity, signal);
      const holder = found.spec.holderIdentity ?? '';
      const { resourceVersion } = found.metadata;
      if (this.#seen?.resourceVersion !== resourceVersion) this.#seen = { resourceVersion, at: this.#clock() };
      const isOld = this.#clock() - this.#seen.at > this.#durationMs;
      if (holder !== '' && holder !== this.#identity && !isOld) return false;
      return await this.#write(found, this.#identity, signal);
    } catch (error) {
      if (!signal.aborted) this.#tell(error);
      return undefined;
    }
  }

  /** Logs a failure. A missing permission is a warning, once: until it is granted, no replica does the work. */
  #tell(error: unknown): void {
    const { cause } = error instanceof Error ? error : {};
    const lacks = isRefusal(cause, 403) ? cause.message : undefined;
    const level = lacks !== undefined && lacks !== this.#lacks ? 'warn' : 'debug';
    this.#lacks = lacks;
    this.#options.log[level]({ lease: this.#options.name, err: error }, 'the Lease could not be read or renewed');
  }

  async #giveBack(): Promise<void> {
    const signal = AbortSignal.timeout(2_000);
    try {
      const found = await this.#object.read(signal);
      if (found?.spec.holderIdentity === this.#identity) await this.#write(found, '', signal);
    } catch {
      // The Lease expires by itself.
    }
  }

  /** Writes the Lease. @returns false if another replica was first */
  async #write(found: FoundLease | undefined, holderIdentity: string, signal: AbortSignal): Promise<boolean> {
    const written = await this.#object.write(found, { holderIdentity, durationSeconds: this.#durationMs / 1000 }, signal);
    if (written === undefined) return false;
    this.#own = holderIdentity === this.#identity ? written : undefined;
    this.#seen = { resourceVersion: written.metadata.resourceVersion, at: this.#clock() };
    return true;
  }

  #clock(): number {
    return this.#options.clock?.() ?? performance.now();
  }
}

const pause = (milliseconds: number, signal: AbortSignal) => sleep(milliseconds, undefined, { signal, ref: false }).catch(() => undefined);

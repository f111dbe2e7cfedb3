import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { wholeRetrySeconds } from '../api/status.ts';
import { type FoundLease, LeaseObject, type LeaseObjectOptions } from './lease-object.ts';

export interface LeaseLockOptions extends LeaseObjectOptions {
  log: Logger;
  /** How long a holder that is not heard of stays one, in seconds. */
  durationSeconds?: number;
}

type Notes = Readonly<Record<string, string>>;

const writeTimeoutMs = 5_000;

/**
 * For what is done now and then, by one replica at a time: a Lease that is held for one run, with what became of the last run in its
 * annotations. That a holder is gone is told by the time it wrote down, so that clocks which differ by more than the duration let two
 * runs begin; the first finds out when it renews, and ends.
 *
 * @see https://kubernetes.io/docs/concepts/architecture/leases/
 */
export class LeaseLock {
  readonly #options: LeaseLockOptions;
  readonly #object: LeaseObject;
  readonly #durationSeconds: number;

  constructor(options: LeaseLockOptions) {
    this.#options = options;
    this.#object = new LeaseObject(options);
    this.#durationSeconds = options.durationSeconds ?? 30;
  }

  /** Whether a replica holds it, and what is noted on it. @throws StatusError */
  async look(signal: AbortSignal): Promise<{ isHeld: boolean; notes: Notes }> {
    const found = await this.#object.read(signal);
    return { isHeld: this.#leftSeconds(found) > 0, notes: notesOf(found) };
  }

  /** @returns the lock, or how long to wait if another replica has it; @throws StatusError */
  async take(signal: AbortSignal): Promise<HeldLock | { retryAfterSeconds: number }> {
    const found = await this.#object.read(signal);
    const leftSeconds = this.#leftSeconds(found);
    if (leftSeconds > 0) return { retryAfterSeconds: wholeRetrySeconds(leftSeconds * 1000) };
    const holding = { holderIdentity: `atrium-${randomUUID()}`, durationSeconds: this.#durationSeconds };
    const written = await this.#object.write(found, holding, signal);
    if (written === undefined) return { retryAfterSeconds: this.#durationSeconds };
    return new HeldLock({ object: this.#object, found: written, log: this.#options.log, ...holding });
  }

  #leftSeconds(found: FoundLease | undefined): number {
    const { holderIdentity, renewTime, leaseDurationSeconds } = found?.spec ?? {};
    const renewedAt = Date.parse(renewTime ?? '');
    if (!holderIdentity || Number.isNaN(renewedAt)) return 0;
    const duration = leaseDurationSeconds ?? this.#durationSeconds;
    // A time that lies ahead comes from another clock: it must not hold for longer than a renewal does.
    return Math.min(duration, duration + (renewedAt - this.#options.now().getTime()) / 1000);
  }
}

interface HeldLockParts {
  object: LeaseObject;
  found: FoundLease;
  holderIdentity: string;
  durationSeconds: number;
  log: Logger;
}

/** The lock in our hands: renewed until it is given back. */
export class HeldLock {
  readonly #parts: HeldLockParts;
  readonly #lost = new AbortController();
  readonly #ended = new AbortController();
  readonly #renewing: Promise<void>;
  #found: FoundLease;
  #writing: Promise<unknown> = Promise.resolve();

  constructor(parts: HeldLockParts) {
    this.#parts = parts;
    this.#found = parts.found;
    this.#renewing = this.#renew();
  }

  /** Aborts when the lock is no longer ours. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** What is noted on it. */
  get notes(): Notes {
    return notesOf(this.#found);
  }

  /** Adds to what is noted. @throws StatusError; the signal's reason if the lock is lost */
  note(annotations: Notes): Promise<void> {
    return this.#write(this.#parts.holderIdentity, annotations);
  }

  /** Gives it back. That this fails is logged: it then runs out by itself. */
  async end(annotations: Notes = {}): Promise<void> {
    this.#ended.abort();
    await this.#renewing;
    if (this.#lost.signal.aborted) return;
    await this.#write('', annotations).catch((error: unknown) => this.#parts.log.warn({ err: error }, 'a Lease could not be given back'));
  }

  async #renew(): Promise<void> {
    const { durationSeconds, holderIdentity, log } = this.#parts;
    const stopped = AbortSignal.any([this.#lost.signal, this.#ended.signal]);
    let renewedAt = performance.now();
    for (;;) {
      await sleep(durationSeconds * 200, undefined, { signal: stopped, ref: false }).catch(() => undefined);
      if (stopped.aborted) return;
      try {
        await this.#write(holderIdentity, {});
        renewedAt = performance.now();
      } catch (error) {
        log.debug({ err: error }, 'a Lease could not be renewed');
        // Another replica takes it after the whole duration; this one must have stopped by then.
        if (performance.now() - renewedAt > (durationSeconds * 2000) / 3) this.#lost.abort(error);
      }
    }
  }

  /** One after the other, as each needs the version that the one before has made. */
  #write(holderIdentity: string, annotations: Notes): Promise<void> {
    const written = this.#writing.then(() => this.#writeNow(holderIdentity, annotations));
    this.#writing = written.catch(() => undefined);
    return written;
  }

  async #writeNow(holderIdentity: string, annotations: Notes): Promise<void> {
    const { object, durationSeconds } = this.#parts;
    const signal = AbortSignal.any([this.#lost.signal, AbortSignal.timeout(writeTimeoutMs)]);
    const holding = { holderIdentity, durationSeconds, annotations };
    const written = (await object.write(this.#found, holding, signal)) ?? (await this.#writeAgain(holding, signal));
    if (written === undefined) {
      this.#lost.abort(new Error('another replica holds the Lease'));
      this.#lost.signal.throwIfAborted();
    } else this.#found = written;
  }

  /** Another replica has written in between: only its holder counts. */
  async #writeAgain(holding: Parameters<LeaseObject['write']>[1], signal: AbortSignal): Promise<FoundLease | undefined> {
    const { object, holderIdentity } = this.#parts;
    const found = await object.read(signal);
    return found?.spec.holderIdentity === holderIdentity ? object.write(found, holding, signal) : undefined;
  }
}

const notesOf = (found: FoundLease | undefined): Notes => found?.metadata.annotations ?? {};

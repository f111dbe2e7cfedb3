import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { wholeRetrySeconds } from '@atrium/objects/status.ts';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { ServiceClient } from '../own-account.ts';
import { type ResourceType, resourcePath } from '../resource.ts';
import { isGone, isRefusal } from '../upstream-error.ts';

const leases: ResourceType = { group: 'coordination.k8s.io', version: 'v1', resource: 'leases' };

/** @see https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/lease-v1/ */
const leaseObject = z.looseObject({
  metadata: z.looseObject({ resourceVersion: z.string(), annotations: z.record(z.string(), z.string()).optional() }),
  spec: z
    .looseObject({
      holderIdentity: z.string().nullish(),
      leaseDurationSeconds: z.number().nullish(),
      renewTime: z.string().nullish(),
      leaseTransitions: z.number().nullish(),
    })
    .default({}),
});

/** A Lease that was read or written. */
export type FoundLease = z.output<typeof leaseObject>;

/** Holder of the Lease from now on ('' to release it), and its new annotations. */
interface Holding {
  holderIdentity: string;
  durationSeconds: number;
  annotations?: Readonly<Record<string, string>>;
}

export interface LeaseObjectOptions {
  client: ServiceClient;
  namespace: string;
  name: string;
  now: () => Date;
}

/** A Lease of the API server, read and written with the service's own account. */
export class LeaseObject {
  readonly #options: LeaseObjectOptions;

  constructor(options: LeaseObjectOptions) {
    this.#options = options;
  }

  /**
   * Reads the Lease.
   *
   * @returns undefined if it does not exist
   * @throws StatusError
   */
  async read(signal: AbortSignal): Promise<FoundLease | undefined> {
    const { client, namespace, name } = this.#options;
    try {
      return leaseObject.parse(
        await client.request({ method: 'GET', path: resourcePath(leases, { namespace, name }), call: 'get leases', signal }),
      );
    } catch (error) {
      if (isGone(error, leases, name)) return undefined;
      throw error;
    }
  }

  /**
   * Creates the Lease, or updates it if it has not changed since it was found.
   *
   * @returns undefined after a conflict
   * @throws StatusError
   */
  async write(found: FoundLease | undefined, holding: Holding, signal: AbortSignal): Promise<FoundLease | undefined> {
    const { client, namespace, name, now } = this.#options;
    const { holderIdentity, durationSeconds, annotations } = holding;
    const time = `${now().toISOString().replace('Z', '')}000Z`;
    const isNew = found?.spec.holderIdentity !== holderIdentity;
    const spec = {
      ...found?.spec,
      holderIdentity,
      leaseDurationSeconds: durationSeconds,
      renewTime: time,
      ...(isNew && { acquireTime: time, leaseTransitions: (found?.spec.leaseTransitions ?? -1) + 1 }),
    };
    const metadata = {
      ...found?.metadata,
      name,
      namespace,
      ...(annotations && { annotations: { ...found?.metadata.annotations, ...annotations } }),
    };
    const method = found === undefined ? 'POST' : 'PUT';
    const path = resourcePath(leases, { namespace, ...(method === 'PUT' && { name }) });
    const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', ...found, metadata, spec };
    try {
      return leaseObject.parse(
        await client.request({ method, path, body, call: `${method === 'PUT' ? 'update' : 'create'} leases`, signal }),
      );
    } catch (error) {
      if (isRefusal(error, 409)) return undefined;
      throw error;
    }
  }
}

export interface LeaseLockOptions extends LeaseObjectOptions {
  log: Logger;
  /** Time in seconds after which a holder that does not renew the Lease is replaced. */
  durationSeconds?: number;
}

const defaultSeconds = 30;

/** Returns the time in seconds for which a Lease is still held. */
function leftSeconds(found: FoundLease | undefined, now: Date, durationSeconds: number): number {
  const { holderIdentity, renewTime, leaseDurationSeconds } = found?.spec ?? {};
  const renewedAt = Date.parse(renewTime ?? '');
  if (!holderIdentity || Number.isNaN(renewedAt)) return 0;
  const duration = leaseDurationSeconds ?? durationSeconds;
  // A time in the future is from another clock. Such a Lease must not be held for longer than a renewal.
  return Math.min(duration, duration + (renewedAt - now.getTime()) / 1000);
}

/** Reports whether a replica holds a Lease that was listed. */
export const isHeldLease = (lease: object, now: Date): boolean => leftSeconds(leaseObject.parse(lease), now, defaultSeconds) > 0;

type Notes = Readonly<Record<string, string>>;

const writeTimeoutMs = 5_000;

/**
 * A lock for work that one replica at a time does now and then: a Lease that is held for one run, with the result of the last run in its
 * annotations. Expiry depends on the time that the holder wrote, so that clocks that differ by more than the duration let two runs begin.
 * The first run then fails to renew, and ends.
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
    this.#durationSeconds = options.durationSeconds ?? defaultSeconds;
  }

  /** Reports whether a replica holds the Lease, and its annotations. @throws StatusError */
  async look(signal: AbortSignal): Promise<{ isHeld: boolean; notes: Notes }> {
    const found = await this.#object.read(signal);
    return { isHeld: this.#leftSeconds(found) > 0, notes: notesOf(found) };
  }

  /**
   * Takes the lock.
   *
   * @returns the lock, or the time to wait if another replica holds it
   * @throws StatusError
   */
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
    return leftSeconds(found, this.#options.now(), this.#durationSeconds);
  }
}

interface HeldLockParts {
  object: LeaseObject;
  found: FoundLease;
  holderIdentity: string;
  durationSeconds: number;
  log: Logger;
}

/** A lock that this replica holds, renewed until it is released. */
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

  /** Signal that aborts when the lock is lost. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** Annotations of the Lease. */
  get notes(): Notes {
    return notesOf(this.#found);
  }

  /** Adds annotations. @throws StatusError; the reason of the signal if the lock is lost */
  note(annotations: Notes): Promise<void> {
    return this.#write(this.#parts.holderIdentity, annotations);
  }

  /** Releases the lock. A failure is logged; the Lease then expires by itself. */
  async end(annotations: Notes = {}): Promise<void> {
    this.#ended.abort();
    await this.#renewing;
    if (this.#lost.signal.aborted) return;
    await this.#write('', annotations).catch((error: unknown) => this.#parts.log.warn({ err: error }, 'release of a Lease failed'));
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
        log.debug({ err: error }, 'renewal of a Lease failed');
        // Another replica takes the Lease after the whole duration. This one must have stopped by then.
        if (performance.now() - renewedAt > (durationSeconds * 2000) / 3) this.#lost.abort(error);
      }
    }
  }

  /** Writes the Lease. Writes are sequential, because each needs the version of the one before. */
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

  /** Writes again after a conflict, if this replica is still the holder. */
  async #writeAgain(holding: Parameters<LeaseObject['write']>[1], signal: AbortSignal): Promise<FoundLease | undefined> {
    const { object, holderIdentity } = this.#parts;
    const found = await object.read(signal);
    return found?.spec.holderIdentity === holderIdentity ? object.write(found, holding, signal) : undefined;
  }
}

const notesOf = (found: FoundLease | undefined): Notes => found?.metadata.annotations ?? {};

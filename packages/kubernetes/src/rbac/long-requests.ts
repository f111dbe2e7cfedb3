import type { Identity } from '@atrium/http/caller.ts';
import { isRefusal, type Lasting } from '@atrium/http/while-permitted.ts';
import type { StatusError } from '@atrium/objects/status.ts';
import type { AccessReviews } from '../access.ts';
import { WorkQueue } from '../controllers/work-queue.ts';
import type { BoundSubject } from './role-bindings.ts';
import type { RbacWatch } from './watch.ts';

/** Delay of the first check, because the authorizer of the API server follows roles by a watch of its own. */
const firstCheckMs = 1_000;
/** Delay of the last check, for an authorizer that is behind. */
const lastCheckMs = 4_000;
const maxChecksAtOnce = 8;

/** A watch, followed log, live list or connection in another protocol. */
export interface LongRequest {
  /** Users whose bindings allow it: the caller and, if the caller acts as another user, that user. Default: unknown, thus any. */
  users?: readonly Pick<Identity, 'name' | 'groups'>[];
  /**
   * Asks the question of the request again, as its caller.
   *
   * @throws StatusError 401 or 403 if it would be refused now, 410 if it shows other objects now
   */
  check(signal: AbortSignal): Promise<void>;
  /** Interval of further checks, in milliseconds. Default: checks follow a loss only. */
  everyMs?: number | undefined;
}

interface Open extends LongRequest {
  signal: AbortSignal;
  end(reason: StatusError): void;
  /** Time of the last check after the latest loss, by the monotonic clock. */
  lastCheckAt: number;
}

export interface LongRequestsOptions {
  access: Pick<AccessReviews, 'clear'>;
  rbac: Pick<RbacWatch, 'onLoss'>;
  now: () => Date;
  /** Monotonic clock, in milliseconds. */
  clock?: () => number;
}

/**
 * Long requests of this replica. The API server authorizes a request once, and never ends an open one. A loss is a binding that is deleted
 * or changed, or a role that is. Requests of its subjects are checked one and four seconds later, and end if they would be refused.
 */
export class LongRequests {
  readonly #access: LongRequestsOptions['access'];
  readonly #clock: () => number;
  readonly #open = new Map<string, Open>();
  readonly #queue: WorkQueue;
  readonly #stopped = new AbortController();
  #opened = 0;
  /** Time at which cached decisions were dropped. */
  #droppedAt = Number.NEGATIVE_INFINITY;

  constructor({ access, rbac, now, clock = () => performance.now() }: LongRequestsOptions) {
    this.#access = access;
    this.#clock = clock;
    this.#queue = new WorkQueue({ workers: maxChecksAtOnce, delayMs: firstCheckMs, now, clock });
    rbac.onLoss((subjects) => this.#checkAll(subjects));
  }

  start(): void {
    const work = {
      reconcile: (key: string) => this.#check(key),
      // A check without an answer is repeated.
      onFailure: () => undefined,
    };
    void this.#queue.run(work, this.#stopped.signal);
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
  }

  /**
   * Adds a request.
   *
   * @param credential lasts as long as the credential of the request
   * @returns a signal that aborts with that of the credential, or with the 401, 403 or 410 of a check
   */
  add(request: LongRequest, credential: Lasting): Lasting {
    const lost = new AbortController();
    const signal = AbortSignal.any([credential.signal, lost.signal]);
    this.#opened += 1;
    const key = String(this.#opened);
    const end = () => {
      credential.end();
      this.#open.delete(key);
    };
    this.#open.set(key, { ...request, signal, end: (reason) => lost.abort(reason), lastCheckAt: Number.NEGATIVE_INFINITY });
    signal.addEventListener('abort', end, { once: true });
    if (request.everyMs !== undefined) this.#queue.add(key);
    return { signal, end };
  }

  #checkAll(subjects: Iterable<BoundSubject>): void {
    if (this.#open.size === 0) return;
    const names = new Set(Array.from(subjects, ({ kind, name }) => `${kind === 'Group' ? 'Group' : 'User'} ${name}`));
    const isOne = ({ name, groups }: Pick<Identity, 'name' | 'groups'>) =>
      names.has(`User ${name}`) || groups.some((group) => names.has(`Group ${group}`));
    for (const [key, open] of this.#open) {
      if (names.size === 0 || open.users?.some(isOne) === false) continue;
      open.lastCheckAt = this.#clock() + lastCheckMs;
      this.#queue.add(key);
    }
  }

  async #check(key: string) {
    const open = this.#open.get(key);
    if (open === undefined) return 'done';
    const at = this.#clock();
    if (at >= open.lastCheckAt) this.#dropOlderThan(open.lastCheckAt);
    try {
      await open.check(open.signal);
    } catch (error) {
      if (open.signal.aborted) return 'done';
      if (!isRefusal(error)) throw error;
      open.end(error);
      return 'done';
    }
    const left = [open.lastCheckAt - at, open.everyMs].filter((ms) => ms !== undefined && ms > 0);
    return left.length === 0 ? 'done' : { requeueAfterMs: Math.min(...(left as number[])) };
  }

  /** Drops cached decisions of the first check, once for all requests of a loss. */
  #dropOlderThan(time: number): void {
    if (this.#droppedAt >= time) return;
    this.#droppedAt = this.#clock();
    this.#access.clear();
  }
}

import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import type { Counter } from '@atrium/http/telemetry/metrics.ts';
import { clusterEventNamespace, createEvent } from '@atrium/kubernetes/events.ts';
import { LRUCache } from 'lru-cache';
import type { AuditEvent } from '../../audit/audit.ts';
import type { Services } from '../../services.ts';
import { userApiVersion } from './schema.ts';

/**
 * Rate limit per user, like that of Kubernetes' own event recorders. An attacker who knows a name must not fill the store with failed
 * logins.
 */
const burst = 25;
const refillMs = 300_000;
const maxUsers = 4096;

const maxWaiting = 1_000;
const atOnce = 4;
/** Time in which a stopping replica writes the Events that wait. */
const lastMs = 2_000;
/** Interval of log entries about lost Events. */
const logEveryMs = 60_000;

type EventServices = Pick<Services, 'client' | 'log' | 'metrics' | 'now' | 'clock'>;

/** Event that waits, with the time of its occasion. */
interface Waiting {
  readonly event: AuditEvent;
  readonly user: { readonly name: string; readonly uid: string };
  readonly time: Date;
}

/** End of an Event that is not written: over the rate of its user, no room in the queue, or not accepted by the API server. */
type Loss = 'limited' | 'dropped' | 'failed';

/**
 * Writes audit events about a User as Kubernetes Events, which `kubectl describe user` shows. Events wait in a bounded queue, and no request
 * waits for them. Lost ones are counted and logged.
 */
export class UserEvents {
  readonly #services: EventServices;
  readonly #counter: Counter<'outcome'>;
  readonly #stopping = new AbortController();
  readonly #buckets = new LRUCache<string, { left: number; at: number }>({ max: maxUsers });
  readonly #waiting: Waiting[] = [];
  readonly #workers = new Set<Promise<void>>();
  /** Calls outside the request that records an event: its trace, and its share of the calls to the API server. */
  readonly #outsideRequests = AsyncLocalStorage.snapshot();
  #isStopped = false;
  #loggedAt = Number.NEGATIVE_INFINITY;

  constructor(services: EventServices) {
    this.#services = services;
    this.#counter = services.metrics.counter({
      name: 'atrium_user_events_total',
      help: 'Kubernetes Events on users, by outcome (written; limited by the rate of a user; dropped by the full queue; failed).',
      labelNames: ['outcome'],
    });
  }

  /** Adds an Event to the queue. Never throws. */
  send(event: AuditEvent): void {
    const { target: user } = event;
    if (user === undefined || user.uid === '') return;
    if (!this.#spend(user.uid)) this.#lose('limited', event);
    else if (this.#isStopped || this.#waiting.length >= maxWaiting) this.#lose('dropped', event);
    else {
      this.#waiting.push({ event, user, time: this.#services.now() });
      if (this.#workers.size < atOnce) this.#outsideRequests(() => this.#startWorker());
    }
  }

  /** Writes the Events that wait, for a moment at most. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    const timer = setTimeout(() => this.#stopping.abort(new Error('the service stops')), lastMs);
    await Promise.all(this.#workers);
    clearTimeout(timer);
  }

  #startWorker(): void {
    const worker = this.#work().finally(() => this.#workers.delete(worker));
    this.#workers.add(worker);
  }

  async #work(): Promise<void> {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) await this.#write(next);
  }

  #spend(uid: string): boolean {
    const now = this.#services.clock();
    const { left, at } = this.#buckets.get(uid) ?? { left: burst, at: now };
    const refilled = Math.min(burst, left + (now - at) / refillMs);
    if (refilled < 1) return false;
    this.#buckets.set(uid, { left: refilled - 1, at: now });
    return true;
  }

  async #write({ event, user: { name, uid }, time }: Waiting): Promise<void> {
    const { client } = this.#services;
    const type = event.outcome === 'success' && event.audit !== 'UserLocked' ? 'Normal' : 'Warning';
    const involvedObject = { apiVersion: userApiVersion, kind: 'User', name, uid };
    const suffix = randomBytes(8).toString('hex');
    const told = { type, reason: event.audit, message: messageOf(event), action: event.audit } as const;
    try {
      await createEvent(client, { namespace: clusterEventNamespace, involvedObject, suffix, ...told, time }, this.#stopping.signal);
      this.#counter.inc({ outcome: 'written' });
    } catch (error) {
      this.#lose('failed', event, error);
    }
  }

  /** Logs once a minute, because an attacker may cause thousands. The audit trail has each of them. */
  #lose(outcome: Loss, { audit, target }: AuditEvent, error?: unknown): void {
    const { log, clock } = this.#services;
    this.#counter.inc({ outcome });
    if (clock() - this.#loggedAt < logEveryMs) return;
    this.#loggedAt = clock();
    log.warn({ audit, user: target?.name, outcome, err: error }, 'Event could not be written');
  }
}

const messageOf = ({ audit, reason, actor, source }: AuditEvent): string =>
  [audit, reason && `(${reason})`, actor && `by ${actor.name}`, source && `from ${source}`].filter(Boolean).join(' ').slice(0, 1024);

import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { AuditEvent } from '../../audit/audit.ts';
import { clusterEventNamespace, createEvent } from '../../kubernetes/events.ts';
import type { Services } from '../../services.ts';
import { userApiVersion } from './schema.ts';

/**
 * Rate limit per user, like that of Kubernetes' own event recorders. An attacker who knows a name must not fill the store with failed
 * logins.
 */
const burst = 25;
const refillMs = 300_000;
const maxUsers = 4096;

const maxPending = 100;

type EventServices = Pick<Services, 'client' | 'log' | 'now' | 'clock'>;

/** Writes audit events about a User as Kubernetes Events, which `kubectl describe user` shows. */
export class UserEvents {
  readonly #services: EventServices;
  readonly #stopping = new AbortController();
  readonly #buckets = new LRUCache<string, { left: number; at: number }>({ max: maxUsers });
  #pending = 0;

  constructor(services: EventServices) {
    this.#services = services;
  }

  /** Creates an Event in the background unless a limit is reached, and never throws. A lost Event is no failure. */
  send(event: AuditEvent): void {
    const { target, audit } = event;
    if (target === undefined || target.uid === '' || this.#pending >= maxPending || !this.#spend(target.uid)) return;
    this.#pending += 1;
    this.#create(event, target)
      .catch((error: unknown) => this.#services.log.debug({ audit, user: target.name, err: error }, 'Event could not be written'))
      .finally(() => {
        this.#pending -= 1;
      });
  }

  stop(): void {
    this.#stopping.abort(new Error('the service stops'));
  }

  #spend(uid: string): boolean {
    const now = this.#services.clock();
    const { left, at } = this.#buckets.get(uid) ?? { left: burst, at: now };
    const refilled = Math.min(burst, left + (now - at) / refillMs);
    if (refilled < 1) return false;
    this.#buckets.set(uid, { left: refilled - 1, at: now });
    return true;
  }

  #create(event: AuditEvent, { name, uid }: { name: string; uid: string }): Promise<void> {
    const { client, now } = this.#services;
    const type = event.outcome === 'success' && event.audit !== 'UserLocked' ? 'Normal' : 'Warning';
    const involvedObject = { apiVersion: userApiVersion, kind: 'User', name, uid };
    const suffix = randomBytes(8).toString('hex');
    const told = { type, reason: event.audit, message: messageOf(event), action: event.audit } as const;
    return createEvent(client, { namespace: clusterEventNamespace, involvedObject, suffix, ...told, time: now() }, this.#stopping.signal);
  }
}

const messageOf = ({ audit, reason, actor, source }: AuditEvent): string =>
  [audit, reason && `(${reason})`, actor && `by ${actor.name}`, source && `from ${source}`].filter(Boolean).join(' ').slice(0, 1024);

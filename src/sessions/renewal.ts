import { randomUUID } from 'node:crypto';
import { serviceUnavailable, wholeRetrySeconds } from '../api/status.ts';
import type { AuditOrigin } from '../http/audit.ts';
import { abortable } from '../kubernetes/deadline.ts';
import { sessionEnded } from './account-state.ts';
import type { Session } from './browser-sessions.ts';
import type { SessionContext } from './context.ts';
import type { Renewal } from './record.ts';
import { renewalAnnotated, SessionCarrier } from './session-carrier.ts';
import { renewTokens } from './token-renewer.ts';

/** Time that other replicas wait for the replica that holds the claim. */
const claimMs = 15_000;
/** Time in which no replica asks again after the issuer could not be reached. */
const failureMs = 3_000;
const waitMs = 25_000;

/**
 * Renews the tokens of sessions. Concurrent requests, also on other replicas, share one exchange: the replica that writes its claim into
 * the Session first (compare-and-swap) asks the issuer, all others wait for the result.
 */
export class SessionRenewal {
  readonly #context: SessionContext;
  readonly #running = new Map<string, Promise<Session>>();
  readonly #stopping = new AbortController();

  constructor(context: SessionContext) {
    this.#context = context;
  }

  /** Waits for the exchanges in flight: tokens that the issuer has given must not be lost. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the service stops'));
    await Promise.allSettled(this.#running.values());
  }

  /**
   * Returns the session with newer tokens than the given ones. Continues when the caller disconnects.
   *
   * @param origin of the request that asks for new tokens, and also receives a new handle. A renewal without a request keeps the handle,
   *   because the page would not learn of a new one, and could not log out.
   * @throws StatusError 401 if the session has ended; 503 if the issuer or the API server cannot be reached, which changes nothing
   */
  async renew(session: Session, signal: AbortSignal, origin?: AuditOrigin): Promise<Session> {
    signal.throwIfAborted();
    const { name } = session.row;
    let running = this.#running.get(name);
    if (running === undefined) {
      running = this.#renew(session, origin).finally(() => this.#running.delete(name));
      this.#running.set(name, running);
    }
    return abortable(running, signal);
  }

  /** Renews in the background: while the tokens are still valid, no request has to wait. */
  renewAhead(session: Session): void {
    const { renewal } = session.row;
    if (this.#running.has(session.row.name) || (renewal !== undefined && this.#holds(renewal))) return;
    this.renew(session, this.#stopping.signal).catch((error: unknown) => {
      if (!this.#stopping.signal.aborted) this.#context.log.info({ err: error }, 'a session was not renewed ahead');
    });
  }

  async #renew(session: Session, origin: AuditOrigin | undefined): Promise<Session> {
    const { sessions, store, clock } = this.#context;
    const { name } = session.row;
    const signal = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(waitMs)]);
    while (!signal.aborted) {
      const current = await sessions.current(name);
      if (current?.verified === undefined) throw sessionEnded();
      // Only a renewal changes the sealed data.
      if (current.row.sealed !== session.row.sealed) return current;
      const { renewal } = current.row;
      if (renewal !== undefined && this.#holds(renewal)) {
        if (renewal.hasFailed) throw serviceUnavailable('identity provider', { retryAfterSeconds: wholeRetrySeconds(failureMs) });
        await store.changed(name, Math.max(1, renewal.seenAt + claimMs - clock()), signal).catch(() => undefined);
        continue;
      }
      const id = randomUUID();
      const claimed = await store.patch(current.row, renewalAnnotated(id), signal);
      if (claimed === 'gone') throw sessionEnded();
      if (claimed !== 'conflict') {
        const claim = { id, issuer: current.verified.issuer, takesNewHandle: origin !== undefined, stopping: this.#stopping.signal };
        return renewTokens(this.#context, new SessionCarrier(this.#context, { ...current, row: claimed }, claim), origin);
      }
      // Another replica was first, or the cache of this replica is behind.
      await store.read(name, signal);
    }
    throw serviceUnavailable('identity provider', { cause: new Error('another replica did not renew in time') });
  }

  #holds({ hasFailed, seenAt }: Renewal): boolean {
    return this.#context.clock() - seenAt < (hasFailed ? failureMs : claimMs);
  }
}

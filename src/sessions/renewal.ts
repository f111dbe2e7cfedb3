import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { newSecret } from '@atrium/http/cookies/cookies.ts';
import { abortable } from '@atrium/kubernetes/deadline.ts';
import { type StatusError, serviceUnavailable, wholeRetrySeconds } from '@atrium/objects/status.ts';
import type { FatalRefresh, TokenSet } from '@atrium/oidc-client/types.ts';
import type { AuditOrigin } from '../audit/audit.ts';
import type { Issuer } from '../issuer/issuer.ts';
import { sessionEnded } from './account-state.ts';
import type { Session } from './browser-sessions.ts';
import type { SessionContext } from './context.ts';
import type { LoginFacts } from './login-facts.ts';
import { auditSubjectOfSession, failedRenewal, type Renewal, renewalAnnotation, type SessionRow } from './record.ts';
import { renewTokens, type TokenCarrier } from './token-renewer.ts';

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
      if (!this.#stopping.signal.aborted) this.#context.log.info({ err: error }, 'background session renewal failed');
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

/** Timeout of a write with all its retries. */
const writeMs = 10_000;
/** Time in which renewed tokens are written: the old refresh token may no longer be valid. */
const saveMs = 60_000;
const savePauseMs = 500;

/** The claim of this replica on a session. */
interface SessionClaim {
  /** Value of the annotation. */
  id: string;
  issuer: Issuer;
  /** A renewal that the page asks for changes the handle; the page does not learn of other renewals. */
  takesNewHandle: boolean;
  /** Aborted when the service stops. */
  stopping: AbortSignal;
}

/** A Session object as the carrier of its tokens, claimed by this replica. */
class SessionCarrier implements TokenCarrier<TokenSet, Session> {
  readonly login: LoginFacts;
  readonly issuer: Issuer;
  readonly row: SessionRow;
  readonly refreshToken: string | undefined;
  readonly auditSubject: ReturnType<typeof auditSubjectOfSession>;
  readonly #context: SessionContext;
  readonly #session: Session;
  readonly #claim: SessionClaim;

  /** @param session session with the claim of this replica */
  constructor(context: SessionContext, session: Session, claim: SessionClaim) {
    this.#context = context;
    this.#session = session;
    this.#claim = claim;
    this.login = session.secrets.login;
    this.issuer = claim.issuer;
    this.row = session.row;
    this.refreshToken = session.secrets.tokens.refreshToken;
    this.auditSubject = auditSubjectOfSession(session.row);
  }

  /** The Session object is left to delete. */
  isOver(): boolean {
    return false;
  }

  exchange(deadline: AbortSignal): Promise<TokenSet> {
    return this.issuer.tokens.refresh(this.#session.secrets.tokens, deadline);
  }

  refused(cause: FatalRefresh): StatusError {
    return sessionEnded(cause);
  }

  async keep(tokens: TokenSet): Promise<Session | undefined> {
    const { sessions, now } = this.#context;
    const { row, secrets } = this.#session;
    const previous = { handle: secrets.handle, replacedAt: now().getTime() };
    const sealed = sessions.seal(row.name, { ...secrets, tokens, ...(this.#claim.takesNewHandle && { handle: newSecret(), previous }) });
    return this.#save(row, sealed);
  }

  async end(): Promise<void> {
    const { store, log } = this.#context;
    await store.remove(this.#session.row, AbortSignal.timeout(writeMs)).catch((failure: unknown) => {
      log.error({ err: failure }, 'ended session could not be deleted');
    });
  }

  /** Marks the claim as failed, so that other replicas do not retry at once. */
  async release(): Promise<void> {
    await this.#write(this.#session.row, renewalAnnotated(failedRenewal(this.#claim.id))).catch((error: unknown) => {
      this.#context.log.warn({ err: error }, 'claim of a failed renewal could not be released');
    });
  }

  /** Undefined if the session has ended or another replica has claimed it. @throws StatusError 503 */
  async #save(row: SessionRow, sealed: string): Promise<Session | undefined> {
    const { sessions, store, clock, log } = this.#context;
    const until = clock() + saveMs;
    for (;;) {
      try {
        const saved = (await this.#write(row, { ...renewalAnnotated(null), spec: { sealed } })) ?? store.get(row.name);
        // An earlier attempt whose response was lost may have succeeded.
        return saved?.sealed === sealed ? await sessions.open(saved) : undefined;
      } catch (error) {
        log.warn({ err: error }, 'renewed tokens of a session could not be stored, retrying');
        if (clock() > until || this.#claim.stopping.aborted) throw error;
        await sleep(savePauseMs);
      }
    }
  }

  /** Changes a session while this replica holds its claim, and retries after conflicts. Returns undefined if the claim is lost. */
  async #write(claimed: SessionRow, change: Record<string, unknown>): Promise<SessionRow | undefined> {
    const { store } = this.#context;
    const signal = AbortSignal.timeout(writeMs);
    for (let row: SessionRow | undefined = claimed; row?.renewal?.id === this.#claim.id; row = await store.read(claimed.name, signal)) {
      const written = await store.patch(row, change, signal);
      if (written === 'gone') return undefined;
      if (written !== 'conflict') return written;
    }
    return undefined;
  }
}

const renewalAnnotated = (value: string | null) => ({ metadata: { annotations: { [renewalAnnotation]: value } } });

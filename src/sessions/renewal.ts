import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { StatusError, serviceUnavailable, wholeRetrySeconds } from '../api/status.ts';
import type { AuditOrigin } from '../http/audit.ts';
import { issuerTimeoutMs } from '../issuer/fetch.ts';
import { FatalRefresh, type TokenSet } from '../issuer/types.ts';
import { abortable } from '../kubernetes/abortable.ts';
import { sessionEnded } from './account-state.ts';
import type { Session } from './browser-sessions.ts';
import type { SessionContext } from './context.ts';
import { newSecret } from './cookie.ts';
import { failedRenewal, type Renewal, renewalAnnotation, type SessionRow, whoseSession } from './record.ts';
import { renewedTokensRefusal } from './renewed-tokens.ts';

/** So long the others leave a session to the replica that renews it; by then it has an answer, or it is no more. */
const claimMs = 15_000;
/** For one write, with all that is tried again. */
const writeMs = 10_000;
/** No replica asks again for so long after the issuer could not be reached. */
const failureMs = 3_000;
/** So long what the issuer gave is tried to be written: the old refresh token may be worth nothing any more. */
const saveMs = 60_000;
const savePauseMs = 500;
const waitMs = 25_000;

/**
 * Renews the tokens of sessions, one exchange at a time for each, however many replicas are asked by however many requests: the one that
 * writes its name into the Session first (compare-and-swap) goes to the issuer, all others wait for what comes of it.
 */
export class SessionRenewal {
  readonly #context: SessionContext;
  readonly #running = new Map<string, Promise<Session>>();
  readonly #stopping = new AbortController();

  constructor(context: SessionContext) {
    this.#context = context;
  }

  /** What has begun is brought to its end: tokens that the issuer has given must not be lost. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the service stops'));
    await Promise.allSettled(this.#running.values());
  }

  /**
   * The session with tokens newer than those given. Goes on when the one who asked goes away.
   *
   * @param origin of the request that asks for new tokens, which then gets a new handle too. A renewal without a request keeps the
   *   handle: the page would not hear of another, and could then not even log out.
   * @throws StatusError 401 if it is over; 503 if the issuer or the API server was not reached, and everything is as it was
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

  /** As `renew`, without a request: while the tokens still hold, a request need not wait for their successors. */
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
      if (current === undefined) throw sessionEnded();
      // What is sealed changes by a renewal alone.
      if (current.row.sealed !== session.row.sealed) return current;
      const { renewal } = current.row;
      if (renewal !== undefined && this.#holds(renewal)) {
        if (renewal.hasFailed) throw serviceUnavailable('identity provider', { retryAfterSeconds: wholeRetrySeconds(failureMs) });
        await store.changed(name, Math.max(1, renewal.seenAt + claimMs - clock()), signal).catch(() => undefined);
        continue;
      }
      const id = randomUUID();
      const claimed = await store.patch(current.row, annotated(id), signal);
      if (claimed === 'gone') throw sessionEnded();
      if (claimed !== 'conflict')
        return this.#audited(claimed, origin, this.#exchange({ ...current, row: claimed }, id, origin !== undefined));
      // Another replica was faster, or this replica does not know the latest yet.
      await store.read(name, signal);
    }
    throw serviceUnavailable('identity provider', { cause: new Error('another replica did not renew in time') });
  }

  async #audited(row: SessionRow, origin: AuditOrigin | undefined, exchange: Promise<Session>): Promise<Session> {
    const who = { ...origin, ...whoseSession(row) };
    try {
      const session = await exchange;
      this.#context.audit.record({ ...who, audit: 'TokenRefreshed', outcome: 'success' });
      return session;
    } catch (error) {
      const { code, reason } = error instanceof StatusError ? error.status : {};
      this.#context.audit.record({ ...who, audit: 'RefreshFailed', outcome: 'failure', ...(code && { code }), ...(reason && { reason }) });
      throw error;
    }
  }

  #holds({ hasFailed, seenAt }: Renewal): boolean {
    return this.#context.clock() - seenAt < (hasFailed ? failureMs : claimMs);
  }

  async #exchange(session: Session, id: string, takesNewHandle: boolean): Promise<Session> {
    const { issuers, accountState, now, sessions } = this.#context;
    const { row, secrets, verified } = session;
    if (verified === undefined) throw sessionEnded();
    const deadline = AbortSignal.timeout(issuerTimeoutMs);
    let tokens: TokenSet;
    try {
      tokens = await abortable(verified.issuer.tokens.refresh(secrets.tokens, deadline), deadline);
    } catch (error) {
      if (error instanceof FatalRefresh) return this.#end({ row, secrets }, error.refreshToken, sessionEnded(error));
      await this.#giveUp(row, id);
      throw error instanceof StatusError ? error : serviceUnavailable('identity provider', { cause: error });
    }
    const refused =
      accountState.refusalOfSession(session) ??
      (await renewedTokensRefusal(this.#context, { login: secrets.login, issuer: verified.issuer }, tokens, deadline));
    if (refused !== undefined) return this.#end({ row, secrets }, tokens.refreshToken, refused);
    const renewed = {
      ...secrets,
      tokens,
      ...(takesNewHandle && { handle: newSecret(), previous: { handle: secrets.handle, replacedAt: now().getTime() } }),
    };
    const saved = await this.#save(row, id, sessions.seal(row.name, renewed));
    if (saved !== undefined) return saved;
    await issuers.discard(secrets.login, tokens.refreshToken);
    throw sessionEnded();
  }

  /** Undefined if the session is gone, or another user's by now. @throws StatusError 503 */
  async #save(row: SessionRow, id: string, sealed: string): Promise<Session | undefined> {
    const { sessions, store, clock, log } = this.#context;
    const until = clock() + saveMs;
    for (;;) {
      try {
        const saved = (await this.#write(row, id, { ...annotated(null), spec: { sealed } })) ?? store.get(row.name);
        // An attempt whose answer was lost has done it.
        return saved?.sealed === sealed ? await sessions.open(saved) : undefined;
      } catch (error) {
        log.warn({ err: error }, 'renewed tokens of a session could not be kept yet');
        if (clock() > until || this.#stopping.signal.aborted) throw error;
        await sleep(savePauseMs);
      }
    }
  }

  /** Changes a session for as long as it is claimed by that id, whatever else changes in it. Undefined if it is not. */
  async #write(claimed: SessionRow, id: string, change: Record<string, unknown>): Promise<SessionRow | undefined> {
    const { store } = this.#context;
    const signal = AbortSignal.timeout(writeMs);
    for (let row: SessionRow | undefined = claimed; row?.renewal?.id === id; row = await store.read(claimed.name, signal)) {
      const written = await store.patch(row, change, signal);
      if (written === 'gone') return undefined;
      if (written !== 'conflict') return written;
    }
    return undefined;
  }

  /** Never returns. */
  async #end({ row, secrets }: Pick<Session, 'row' | 'secrets'>, refreshToken: string | undefined, error: Error): Promise<never> {
    const { store, issuers, log } = this.#context;
    await store.remove(row, AbortSignal.timeout(writeMs)).catch((failure: unknown) => {
      log.error({ err: failure }, 'a session that is over could not be deleted');
    });
    await issuers.discard(secrets.login, refreshToken);
    throw error;
  }

  /** Tells the other replicas not to try at once what has just failed. */
  async #giveUp(row: SessionRow, id: string): Promise<void> {
    await this.#write(row, id, annotated(failedRenewal(id))).catch((error: unknown) => {
      this.#context.log.warn({ err: error }, 'a renewal that failed could not be given back');
    });
  }
}

const annotated = (value: string | null) => ({ metadata: { annotations: { [renewalAnnotation]: value } } });

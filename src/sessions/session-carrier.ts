import { setTimeout as sleep } from 'node:timers/promises';
import type { StatusError } from '../api/status.ts';
import type { Issuer } from '../issuer/issuer.ts';
import type { FatalRefresh, TokenSet } from '../issuer/types.ts';
import { sessionEnded } from './account-state.ts';
import type { Session } from './browser-sessions.ts';
import type { SessionContext } from './context.ts';
import { newSecret } from './cookie.ts';
import type { LoginFacts } from './login-facts.ts';
import { failedRenewal, renewalAnnotation, type SessionRow, whoseSession } from './record.ts';
import type { TokenCarrier } from './token-renewer.ts';

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
export class SessionCarrier implements TokenCarrier<TokenSet, Session> {
  readonly login: LoginFacts;
  readonly issuer: Issuer;
  readonly refreshToken: string | undefined;
  readonly auditSubject: ReturnType<typeof whoseSession>;
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
    this.refreshToken = session.secrets.tokens.refreshToken;
    this.auditSubject = whoseSession(session.row);
  }

  /** The authentication of the request has waited already. */
  async ready(): Promise<void> {}

  refusal(): StatusError | undefined {
    return this.#context.accountState.refusalOfSession(this.#session);
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
      log.error({ err: failure }, 'a session that is over could not be deleted');
    });
  }

  /** Marks the claim as failed, so that other replicas do not retry at once. */
  async release(): Promise<void> {
    await this.#write(this.#session.row, renewalAnnotated(failedRenewal(this.#claim.id))).catch((error: unknown) => {
      this.#context.log.warn({ err: error }, 'a renewal that failed could not be given back');
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
        log.warn({ err: error }, 'renewed tokens of a session could not be kept yet');
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

export const renewalAnnotated = (value: string | null) => ({ metadata: { annotations: { [renewalAnnotation]: value } } });

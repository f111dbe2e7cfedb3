import { hash } from 'node:crypto';
import { abortable } from '@atrium/kubernetes/deadline.ts';
import { StatusError, serviceUnavailable } from '@atrium/objects/status.ts';
import { issuerTimeoutMs } from '@atrium/oidc-client/fetch.ts';
import { FatalRefresh, type VerifiedClaims } from '@atrium/oidc-client/types.ts';
import type { AuditEvent, AuditOrigin } from '../audit/audit.ts';
import type { Issuer } from '../issuer/issuer.ts';
import { VerifiedLogin } from '../issuer/verified-login.ts';
import { type RenewableLogin, sessionEnded } from './account-state.ts';
import type { SessionContext } from './context.ts';
import type { LoginFacts } from './login-facts.ts';

/** The parts of renewed tokens that name a user. */
interface Renewed {
  readonly claims?: VerifiedClaims | undefined;
  readonly bearer?: string | undefined;
}

/** Tokens of an exchange. */
interface Exchanged extends Renewed {
  readonly refreshToken?: string;
}

type RefreshSubject = Partial<AuditOrigin> & Pick<AuditEvent, 'actor' | 'target'>;

/** Holds the tokens of a login: the Session object of a browser, or the seal of a client that stores its tokens. */
export interface TokenCarrier<T extends Exchanged, R> extends RenewableLogin {
  readonly refreshToken: string | undefined;
  readonly auditSubject: Pick<AuditEvent, 'actor' | 'target'>;
  /** Reports whether an end of the login is recorded or due anyway, so that nothing is left to end. */
  isOver(): boolean;
  /** @throws FatalRefresh if the issuer refuses; StatusError 401 without a refresh token, 503 */
  exchange(deadline: AbortSignal): Promise<T>;
  /** Returns the 401 to throw after the issuer has refused. */
  refused(cause: FatalRefresh): StatusError;
  /**
   * Stores renewed tokens.
   *
   * @returns undefined if the login has ended or another replica has taken over
   * @throws StatusError 401 if the tokens cannot be used, which ends the login; 503
   */
  keep(tokens: T): Promise<R | undefined>;
  /** Ends the login in the cluster. Never throws. */
  end(): Promise<void>;
  /** Releases the renewal after a temporary failure. Never throws. */
  release(): Promise<void>;
}

/**
 * Renews the tokens of a login: check, exchange, check again, keep. Continues when the caller disconnects, because the issuer may accept
 * the old refresh token only once. Records one audit event.
 *
 * @throws StatusError 401 if the login is no longer valid, 503 if the issuer or the API server cannot be reached
 */
export async function renewTokens<T extends Exchanged, R>(
  context: SessionContext,
  carrier: TokenCarrier<T, R>,
  origin: AuditOrigin | undefined,
): Promise<R> {
  const who = { ...origin, ...carrier.auditSubject };
  try {
    const kept = await exchanged(context, carrier);
    context.audit.record({ ...who, audit: 'TokenRefreshed', outcome: 'success' });
    return kept;
  } catch (error) {
    auditFailedRefresh(context, who, error);
    throw error;
  }
}

/** Records a failed refresh. @param who known actor, target and origin */
export function auditFailedRefresh({ audit }: SessionContext, who: RefreshSubject, error: unknown): void {
  const { code, reason } = error instanceof StatusError ? error.status : {};
  audit.record({ ...who, audit: 'RefreshFailed', outcome: 'failure', ...(code && { code }), ...(reason && { reason }) });
}

async function exchanged<T extends Exchanged, R>(context: SessionContext, carrier: TokenCarrier<T, R>): Promise<R> {
  const { accountState } = context;
  const { login, issuer } = carrier;
  const deadline = AbortSignal.timeout(issuerTimeoutMs);
  await accountState.requireRecord({ ...login, createdAt: login.at * 1000 }, deadline);
  const checked = accountState.check(carrier);
  if (checked.refusal !== undefined) {
    if (carrier.isOver()) throw checked.refusal;
    return end(carrier, carrier.refreshToken, checked.refusal);
  }
  const tokens = await exchange(carrier, deadline);
  const late = accountState.refusalSince(checked, carrier) ?? (await renewedTokensRefusal(context, { login, issuer }, tokens, deadline));
  if (late !== undefined) return end(carrier, tokens.refreshToken, late);
  const kept = await keep(carrier, tokens);
  if (kept !== undefined) return kept;
  if (tokens.refreshToken !== undefined) await issuer.discard(tokens.refreshToken);
  throw sessionEnded();
}

async function exchange<T extends Exchanged, R>(carrier: TokenCarrier<T, R>, deadline: AbortSignal): Promise<T> {
  try {
    return await abortable(carrier.exchange(deadline), deadline);
  } catch (error) {
    if (error instanceof FatalRefresh) return end(carrier, error.refreshToken, carrier.refused(error));
    await carrier.release();
    throw error instanceof StatusError ? error : serviceUnavailable('identity provider', { cause: error });
  }
}

async function keep<T extends Exchanged, R>(carrier: TokenCarrier<T, R>, tokens: T): Promise<R | undefined> {
  try {
    return await carrier.keep(tokens);
  } catch (error) {
    if (error instanceof StatusError && error.status.code === 401) return end(carrier, tokens.refreshToken, error);
    throw error;
  }
}

/** Ends the login, then revokes the refresh token if the issuer can be reached. Always throws. */
async function end<T extends Exchanged, R>(
  carrier: TokenCarrier<T, R>,
  refreshToken: string | undefined,
  error: StatusError,
): Promise<never> {
  await carrier.end();
  if (refreshToken !== undefined) await carrier.issuer.discard(refreshToken);
  throw error;
}

type RenewalContext = Pick<SessionContext, 'accountState' | 'identify'>;

/** A login with the issuer that renews its tokens. */
interface RenewedLogin {
  login: LoginFacts;
  issuer: Issuer;
}

/**
 * Returns the 401 to throw if renewed tokens do not match the login (docs/contract/login.md). The issuer may rename a user and keep the
 * `sub`: a revocation by either name would then miss these tokens.
 */
async function renewedTokensRefusal(
  context: RenewalContext,
  { login, issuer }: RenewedLogin,
  { claims, bearer }: Renewed,
  signal: AbortSignal,
): Promise<StatusError | undefined> {
  if (claims === undefined) return undefined;
  const verified = new VerifiedLogin(issuer, claims);
  const { claimedName, userUID } = login;
  try {
    if (verified.identity.name !== claimedName) return sessionEnded(new Error('the renewed tokens are for another user name'));
    if (userUID !== undefined && context.accountState.find(verified)?.uid !== userUID)
      return sessionEnded(new Error('the renewed tokens lead to another record'));
    const why = await differenceAtAPIServer(context, { login, issuer }, bearer, signal);
    return why === undefined ? undefined : sessionEnded(new Error(why));
  } catch (error) {
    if (error instanceof StatusError && error.status.code === 401) return error;
    throw error;
  }
}

/** Compares the user name that the API server finds in the tokens, if it receives them. Without its answer, the claims decide. */
async function differenceAtAPIServer(
  { identify }: RenewalContext,
  { login, issuer }: RenewedLogin,
  token: string | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (!issuer.settings.isForwarded || token === undefined) return undefined;
  try {
    const { identity } = await identify({ token, hash: hash('sha256', token) }, signal);
    return identity.name === login.subjectName ? undefined : 'the API server takes the renewed tokens for another user';
  } catch (error) {
    if (error instanceof StatusError || signal.aborted) return undefined;
    throw error;
  }
}

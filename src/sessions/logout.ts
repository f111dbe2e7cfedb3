import { setTimeout as sleep } from 'node:timers/promises';
import { readBearer } from '@atrium/http/authenticator.ts';
import { StatusError } from '@atrium/objects/status.ts';
import { timesIn } from '@atrium/oidc-client/times.ts';
import { decodeJwt } from 'jose';
import type { Context } from 'koa';
import { auditOrigin } from '../audit/audit.ts';
import { ownSession } from '../issuer/login.ts';
import type { VerifiedLogin } from '../issuer/verified-login.ts';
import { bearerRevocation, type IssuedBearer } from '../revocation/revoked-tokens.ts';
import { noLongerValid, revoked } from '../users/record/conditions.ts';
import type { SessionContext } from './context.ts';
import { auditSubjectOfLogin, type LoginFacts } from './login-facts.ts';
import { type ProvenSession, proofOf } from './proof.ts';
import { endedPayload, type GivenTokens, type RenewPayload } from './schema.ts';
import type { SealedLogin } from './sealed-refresh-tokens.ts';

/** Clock skew after the expiry of bearer tokens. */
const leewaySeconds = 60;
/** After this wait, a new token is issued in a later second than all earlier tokens, also by the clock of the issuer. */
const longestWaitMs = 1_000;

/** Login that has ended here, with the tokens to revoke at the issuer. */
interface Ended {
  storage: RenewPayload['token_storage'];
  login: LoginFacts;
  /** Unix seconds. */
  issuedAt: number;
  refreshToken: string | undefined;
  idToken: string | undefined;
  /** Milliseconds until new tokens of the same user are valid. */
  waitMs: number;
}

/**
 * Logs a user out (docs/contract/login.md). The login ends here first, whether or not the issuer answers.
 *
 * @throws StatusError 400, 401, 403, 429, 503
 */
export async function logout(
  context: SessionContext,
  ctx: Context,
  { refresh_token: refreshToken, id_token: given }: GivenTokens,
): Promise<RenewPayload> {
  const { cookie, farewell, audit, now } = context;
  const { signal } = ctx.state;
  const secret = cookie.read(ctx);
  try {
    const proof = await proofOf(context, ctx, { secret, refreshToken });
    const { storage, login, issuedAt, waitMs, ...atIssuer } =
      'sealed' in proof ? await endSealed(context, ctx, proof.sealed) : await endSession(context, ctx, proof);
    audit.record({ ...auditOrigin(ctx), ...auditSubjectOfLogin(login), audit: 'LoggedOut', outcome: 'success' });
    if (secret !== undefined) cookie.expire(ctx);
    const idToken = atIssuer.idToken ?? hintOf(login, given);
    const [hint] = await Promise.all([
      farewell.announce(ctx, { iss: login.iss, ...atIssuer, idToken }),
      sleep(waitMs, undefined, { signal }),
    ]);
    const posted = hint === undefined ? {} : await postedHint(context, hint, login, signal);
    const seconds = now().getTime() / 1000;
    return { ...endedPayload(storage, { issuedAt: Math.min(issuedAt, seconds), now: now() }), ...posted };
  } catch (error) {
    if (secret !== undefined && error instanceof StatusError && error.status.code === 401) context.sessions.expireCookie(ctx, secret);
    throw error;
  }
}

/** Ends a session, and a bearer token of the request. The tokens of the session have not left the service, and need no revocation. */
async function endSession(context: SessionContext, ctx: Context, { session }: ProvenSession): Promise<Ended> {
  const { login, tokens } = session.secrets;
  const { signal } = ctx.state;
  await context.sessions.end(session, signal);
  const bearer = await verifiedBearer(context, ctx);
  if (bearer !== undefined) await endBearer(context, bearer, login, signal);
  const { issuedAt, refreshToken, idToken } = tokens;
  return { storage: 'cookie', login, issuedAt, refreshToken, idToken, waitMs: 0 };
}

async function endSealed(context: SessionContext, ctx: Context, { login, refreshToken, bearers }: SealedLogin): Promise<Ended> {
  const { accountState } = context;
  const { signal } = ctx.state;
  await accountState.whenReady({ signal });
  if (accountState.isOver(login)) throw noLongerValid(revoked);
  const waitMs = await endLogin(context, login, bearers, signal);
  const bearer = await verifiedBearer(context, ctx);
  if (bearer !== undefined) await endBearer(context, bearer, login, signal);
  const issuedAt = Math.max(login.at, ...bearers.map(({ iat }) => iat));
  const idToken = bearer !== undefined && (await bearer.login.issuer.verifier.isIdToken(bearer.token)) ? bearer.token : undefined;
  return { storage: 'local', login, issuedAt, refreshToken, idToken, waitMs };
}

/**
 * Ends a login whose tokens the caller stores, and leaves the next login of the same user intact. Bearer tokens end first: if that fails, a
 * retry of the request ends everything. Bearer tokens that another seal of the login names end last, after no more can be issued.
 *
 * @param bearers latest bearer tokens
 * @returns the milliseconds until tokens of the next login through the same session of the issuer are valid
 * @throws StatusError 401 if another request was first; 503, 504
 */
async function endLogin(
  context: SessionContext,
  login: LoginFacts,
  bearers: readonly IssuedBearer[],
  signal: AbortSignal,
): Promise<number> {
  const { endAccess, now } = context;
  const { id, user } = login;
  const seconds = now().getTime() / 1000;
  const counting = bearers.filter(({ exp }) => exp + leewaySeconds > seconds);
  await Promise.all(counting.map((bearer) => endAccess({ bearer, owner: user }, 'Logout', signal)));
  const isFirst = await endAccess({ login: { id, user, expiresAt: new Date(login.expiresAt * 1000) } }, 'Logout', signal);
  if (!isFirst) throw noLongerValid(revoked);
  return endOtherBearers(context, login, bearers, signal);
}

/** Ends further bearer tokens of the login. Without a name of the login at the issuer they cannot be distinguished, and expire. */
async function endOtherBearers(
  { endAccess, now }: SessionContext,
  { issuerLogin, user }: LoginFacts,
  bearers: readonly IssuedBearer[],
  signal: AbortSignal,
): Promise<number> {
  const session = ownSession(issuerLogin);
  if (session === undefined) return 0;
  const newest = Math.max(now().getTime() / 1000, ...bearers.map(({ iat }) => iat));
  const notBefore = new Date((Math.floor(newest) + 1) * 1000);
  const longestLifeMs = 1000 * Math.max(0, ...bearers.map(({ iat, exp }) => exp - iat));
  await endAccess({ sessionBearers: { session, notBefore, longestLifeMs, user } }, 'Logout', signal);
  return Math.min(longestWaitMs, Math.max(0, notBefore.getTime() - now().getTime()));
}

/** Returns the ID token if it names the user of the login. The issuer verifies it, and learns only who logs out. */
function hintOf({ iss, sub }: LoginFacts, idToken: string | undefined): string | undefined {
  try {
    const claims = idToken === undefined ? undefined : decodeJwt(idToken);
    return claims?.iss === iss && claims.sub === sub ? idToken : undefined;
  } catch {
    return undefined;
  }
}

/** Revokes the ID token here before it is sent to the issuer. Returns no token if the revocation fails. */
async function postedHint(
  { endAccess, log }: SessionContext,
  idToken: string,
  { user }: LoginFacts,
  signal: AbortSignal,
): Promise<Pick<RenewPayload, 'id_token'>> {
  try {
    const { iat = 0, exp = 0 } = timesIn(idToken);
    await endAccess({ bearer: { name: bearerRevocation(idToken), iat, exp }, owner: user }, 'Logout', signal);
    return { id_token: idToken };
  } catch (error) {
    log.warn({ err: error }, 'ID token hint omitted from the logout at the identity provider');
    return {};
  }
}

interface SentBearer {
  token: string;
  login: VerifiedLogin;
}

/** Returns the bearer token of the request if a configured issuer has issued it; ignores other tokens (docs/contract/conventions.md). */
async function verifiedBearer({ issuers }: SessionContext, ctx: Context): Promise<SentBearer | undefined> {
  try {
    const bearer = readBearer(ctx.req);
    if (bearer === undefined) return undefined;
    const verified = await issuers.bearer(bearer);
    return verified === 'not ours' ? undefined : { token: bearer.token, login: verified.login };
  } catch {
    return undefined;
  }
}

async function endBearer(
  { endAccess }: SessionContext,
  { token, login: { claims } }: SentBearer,
  { user }: LoginFacts,
  signal: AbortSignal,
): Promise<void> {
  await endAccess({ bearer: { name: bearerRevocation(token), iat: claims.iat, exp: claims.exp }, owner: user }, 'Logout', signal);
}

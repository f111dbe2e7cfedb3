import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from 'koa';
import { StatusError } from '../api/status.ts';
import { type Audit, auditOrigin } from '../http/audit.ts';
import { readBearer } from '../http/bearer.ts';
import type { VerifiedToken } from '../issuer/types.ts';
import { noLongerCounts, revoked } from '../users/record/refused-credential.ts';
import { type AccountState, whoseLogin } from './account-state.ts';
import type { IssuerFarewell } from './issuer-logout.ts';
import type { LoginEnds } from './login-ends.ts';
import type { LoginFacts } from './login-facts.ts';
import { type LoginProofOptions, type ProvenSession, proofOf } from './login-proof.ts';
import type { SealedLogin } from './refresh-seal.ts';
import { endedPayload, type RenewPayload } from './renew-payload.ts';
import { bearerRevocation, type RevokedTokens } from './revoked-tokens.ts';

export interface LogoutOptions extends LoginProofOptions {
  accountState: AccountState;
  revokedTokens: RevokedTokens;
  ends: LoginEnds;
  farewell: IssuerFarewell;
  /** @throws StatusError 401, 503 */
  verify: (token: string) => Promise<VerifiedToken | 'not ours'>;
  /** Whether a token is an ID token, and no other JWT of the issuer. */
  isIdToken: (token: string) => Promise<boolean>;
  audit: Audit;
}

/** What has been ended here, and what is left to be ended at the issuer. */
interface Ended {
  storage: RenewPayload['token_storage'];
  login: LoginFacts;
  /** Unix seconds. */
  issuedAt: number;
  refreshToken: string | undefined;
  idToken: string | undefined;
  /** After so many milliseconds tokens that the same user gets next count. */
  waitMs: number;
}

/** Logout (docs/contract/login.md). What is ours ends first; whatever the issuer says, or does not say, changes nothing about that. */
export class Logout {
  readonly #options: LogoutOptions;

  constructor(options: LogoutOptions) {
    this.#options = options;
  }

  /** @throws StatusError 400, 401, 403, 429, 503 */
  async answer(ctx: Context, refreshToken: string, signal: AbortSignal): Promise<RenewPayload> {
    const { cookie, farewell, audit, now } = this.#options;
    const secret = cookie.read(ctx);
    try {
      const proof = await proofOf(ctx, { secret, refreshToken }, this.#options);
      const { storage, login, issuedAt, waitMs, ...atIssuer } =
        'sealed' in proof ? await this.#endSealed(ctx, proof.sealed, signal) : await this.#endSession(ctx, proof, signal);
      audit.record({ ...auditOrigin(ctx), ...whoseLogin(login), audit: 'LoggedOut', outcome: 'success' });
      if (secret !== undefined) cookie.expire(ctx);
      await Promise.all([farewell.say(ctx, atIssuer), sleep(waitMs, undefined, { signal })]);
      const seconds = now().getTime() / 1000;
      return endedPayload(storage, { issuedAt: Math.min(issuedAt, seconds), now: now() });
    } catch (error) {
      if (secret !== undefined && error instanceof StatusError && error.status.code === 401) cookie.expire(ctx);
      throw error;
    }
  }

  /** None of its tokens has left the service, so that its end ends them. */
  async #endSession(ctx: Context, { session }: ProvenSession, signal: AbortSignal): Promise<Ended> {
    const { sessions } = this.#options;
    const { login, tokens } = session.secrets;
    await sessions.end(session, signal);
    const bearer = await this.#bearer(ctx);
    if (bearer !== undefined) await this.#endBearer(bearer, login, signal);
    const { issuedAt, refreshToken, idToken } = tokens;
    return { storage: 'cookie', login, issuedAt, refreshToken, idToken, waitMs: 0 };
  }

  async #endSealed(ctx: Context, { login, refreshToken, bearers }: SealedLogin, signal: AbortSignal): Promise<Ended> {
    const { accountState, ends, isIdToken } = this.#options;
    await accountState.whenKnown(signal);
    if (accountState.isOver(login)) throw noLongerCounts(revoked);
    const waitMs = await ends.end(login, bearers, signal);
    const bearer = await this.#bearer(ctx);
    if (bearer !== undefined) await this.#endBearer(bearer, login, signal);
    const issuedAt = Math.max(login.at, ...bearers.map(({ iat }) => iat));
    const idToken = bearer !== undefined && (await isIdToken(bearer.token)) ? bearer.token : undefined;
    return { storage: 'local', login, issuedAt, refreshToken, idToken, waitMs };
  }

  /** The token that was sent along, if it is one of our issuer and verifies; whatever else is sent is not looked at (docs/contract/conventions.md). */
  async #bearer(ctx: Context): Promise<(VerifiedToken & { token: string }) | undefined> {
    try {
      const token = readBearer(ctx.req)?.token;
      const verified = token === undefined ? 'not ours' : await this.#options.verify(token);
      return token === undefined || verified === 'not ours' ? undefined : { ...verified, token };
    } catch {
      return undefined;
    }
  }

  async #endBearer({ token, claims }: VerifiedToken & { token: string }, { user }: LoginFacts, signal: AbortSignal): Promise<void> {
    const { iat, exp } = claims;
    await this.#options.revokedTokens.endBearer({ name: bearerRevocation(token), iat, exp }, { user }, signal);
  }
}

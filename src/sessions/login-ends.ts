import { ownSession } from '../issuer/login.ts';
import { noLongerCounts, revoked } from '../users/record/refused-credential.ts';
import type { LoginFacts } from './login-facts.ts';
import type { HandedOut, RevokedTokens } from './revoked-tokens.ts';

/** Bearer tokens are accepted that much longer than they say. */
const leewaySeconds = 60;
/** After so long a token that is issued next bears a later second than all before it, also by the clock of the issuer. */
const longestWaitMs = 1_000;

export interface LoginEndsOptions {
  revokedTokens: Pick<RevokedTokens, 'endBearer' | 'endBearers' | 'endLogin'>;
  now: () => Date;
}

/** Ends logins whose tokens the caller keeps (docs/contract/login.md), and nothing of the next login of the same person. */
export class LoginEnds {
  readonly #options: LoginEndsOptions;

  constructor(options: LoginEndsOptions) {
    this.#options = options;
  }

  /**
   * Bearer tokens first: if that fails, the same request can come again and ends everything. Last what covers the bearer tokens that
   * another seal of the login names, now that no other can come.
   *
   * @param bearers handed out last
   * @returns after how many milliseconds tokens of the next login through the same session of the issuer count
   * @throws StatusError 401 if another request was faster; 503, 504
   */
  async end(login: LoginFacts, bearers: readonly HandedOut[], signal: AbortSignal): Promise<number> {
    const { revokedTokens, now } = this.#options;
    const { id, user } = login;
    const seconds = now().getTime() / 1000;
    const counting = bearers.filter(({ exp }) => exp + leewaySeconds > seconds);
    await Promise.all(counting.map((bearer) => revokedTokens.endBearer(bearer, { user }, signal)));
    const isFirst = await revokedTokens.endLogin({ id, user, expiresAt: new Date(login.expiresAt * 1000) }, signal);
    if (!isFirst) throw noLongerCounts(revoked);
    return this.#endOthers(login, bearers, signal);
  }

  /** Without a name of the login at the issuer nothing tells them from those of other logins: they run out. */
  async #endOthers({ issuerLogin, user }: LoginFacts, bearers: readonly HandedOut[], signal: AbortSignal): Promise<number> {
    const { revokedTokens, now } = this.#options;
    const session = ownSession(issuerLogin);
    if (session === undefined) return 0;
    const newest = Math.max(now().getTime() / 1000, ...bearers.map(({ iat }) => iat));
    const notBefore = new Date((Math.floor(newest) + 1) * 1000);
    const longestLifeMs = 1000 * Math.max(0, ...bearers.map(({ iat, exp }) => exp - iat));
    await revokedTokens.endBearers({ session, notBefore, longestLifeMs, user }, signal);
    return Math.min(longestWaitMs, Math.max(0, notBefore.getTime() - now().getTime()));
  }
}

import type { Context } from 'koa';
import { readBearer } from './bearer.ts';
import type { Bearer, Caller } from './operation.ts';

/** Who is calling (api.md 1.3), in two steps: what costs nothing is checked first, and always. */
export interface Authenticator {
  /**
   * The credential of a request after every check that needs no call upstream: form of the header, session, cross-site rule,
   * signature, revocation, state of the account. May expire a cookie on `ctx`.
   *
   * @param isOptional whether a session that has ended counts as none instead of 401
   * @returns undefined for an anonymous caller
   * @throws StatusError 401, 403 CrossSiteRequest, 503
   */
  read(ctx: Context, isOptional: boolean): Promise<Bearer | undefined>;
  /** Whose it is, asked of the API server where it is not known. @throws StatusError 401, 503, 504 */
  identify(bearer: Bearer, signal: AbortSignal): Promise<Caller>;
}

/** Without log-in: whatever bearer token the API server accepts. */
export const tokensOnly = (identify: Authenticator['identify']): Authenticator => ({ read: async ({ req }) => readBearer(req), identify });

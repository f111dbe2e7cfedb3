import type { Context } from 'koa';
import { unauthorized } from '../api/status.ts';
import { readBearer } from './bearer.ts';
import type { Bearer, Caller } from './operation.ts';

/** Who is calling (docs/contract/conventions.md), in two steps: what costs nothing is checked first, and always. */
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
  /**
   * The credential of a request that has been under way for long, checked again; that it is open is no use of a session.
   *
   * @throws StatusError 401 once it no longer counts, 503
   */
  revalidate(ctx: Context): Promise<Bearer>;
  /** Whose it is, asked of the API server where it is not known. @throws StatusError 401, 503, 504 */
  identify(bearer: Bearer, signal: AbortSignal): Promise<Caller>;
  /** The same at once where it is known; undefined where it has to be asked. */
  identified?(bearer: Bearer): Caller | undefined;
}

/** Without login: each bearer token that the API server accepts. */
export const tokensOnly = (identify: Authenticator['identify']): Authenticator => ({
  read: async ({ req }) => readBearer(req),
  async revalidate({ req }) {
    const bearer = readBearer(req);
    if (bearer === undefined) throw unauthorized({ tokenGiven: false });
    return bearer;
  },
  identify,
});

/** RFC 6750 section 2.1, scheme in any case; the prefix is that of our own access tokens. */
const accessTokenHeader = /^bearer +cat_/i;

/**
 * The credential that an access token stands for.
 *
 * @param isUse false for a request that has been under way for long
 * @throws StatusError 401, 503
 */
export type VerifyAccessToken = (bearer: Bearer, ctx: Context, isUse: boolean) => Promise<Bearer>;

/**
 * Access tokens are judged here and nowhere else: nothing that begins as one is ever sent to the API server.
 *
 * @param judge undefined where there are none
 * @param identified whose a credential is, where that is known
 */
export function withAccessTokens(
  others: Authenticator,
  judge: VerifyAccessToken | undefined,
  identified: NonNullable<Authenticator['identified']>,
): Authenticator {
  const isAccessToken = ({ req }: Context): boolean => accessTokenHeader.test(req.headers.authorization ?? '');
  const ofAccessToken = async (ctx: Context, isUse: boolean): Promise<Bearer> => {
    const bearer = readBearer(ctx.req);
    if (bearer === undefined || judge === undefined) throw unauthorized({ tokenGiven: true });
    return judge(bearer, ctx, isUse);
  };
  return {
    read: (ctx, isOptional) => (isAccessToken(ctx) ? ofAccessToken(ctx, true) : others.read(ctx, isOptional)),
    revalidate: (ctx) => (isAccessToken(ctx) ? ofAccessToken(ctx, false) : others.revalidate(ctx)),
    identify: (bearer, signal) => others.identify(bearer, signal),
    identified,
  };
}

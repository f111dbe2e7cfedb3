import type { Context } from 'koa';
import { unauthorized } from '../api/status.ts';
import { readBearer } from './bearer.ts';
import type { Bearer, Caller, ViewedAccess } from './operation.ts';

/** Authenticates requests in two steps (docs/contract/conventions.md): checks without a call upstream come first. */
export interface Authenticator {
  /**
   * Returns the credential of a request after all checks without a call upstream: form of the header, session, cross-site rule,
   * signature, revocation, state of the account. May expire a cookie on `ctx`.
   *
   * @param isOptional whether a session that has ended counts as none instead of 401
   * @returns undefined for an anonymous caller
   * @throws StatusError 401, 403 CrossSiteRequest, 503
   */
  read(ctx: Context, isOptional: boolean): Promise<Bearer | undefined>;
  /**
   * Checks the credential of an open watch or connection again. An open request is no use of a session.
   *
   * @throws StatusError 401 if the credential is no longer valid, 503
   */
  revalidate(ctx: Context): Promise<Bearer>;
  /** Returns the owner of a credential, by a SelfSubjectReview unless the owner is cached. @throws StatusError 401, 503, 504 */
  identify(bearer: Bearer, signal: AbortSignal): Promise<Caller>;
  /** Returns the cached owner of a credential. */
  identified?(bearer: Bearer): Caller | undefined;
  /**
   * Returns the caller as the user that the headers of the request name. Undefined if the installation offers no views.
   *
   * @throws StatusError 400, 403 ViewAsNotAllowed, 503
   */
  view?(ctx: Context, caller: Caller, access: ViewedAccess): Promise<Caller>;
}

/** Authenticates an installation without login: accepts the bearer tokens that the API server accepts. */
export const tokensOnly = (identify: Authenticator['identify']): Authenticator => ({
  read: async ({ req }) => readBearer(req),
  async revalidate({ req }) {
    const bearer = readBearer(req);
    if (bearer === undefined) throw unauthorized({ tokenGiven: false });
    return bearer;
  },
  identify,
});

/** RFC 6750 section 2.1, scheme in any case, with the prefix of access tokens. */
const accessTokenHeader = /^bearer +cat_/i;

/**
 * Returns the credential that an access token stands for.
 *
 * @param isUse false for an open watch or connection that is checked again
 * @throws StatusError 401, 503
 */
export type VerifyAccessToken = (bearer: Bearer, ctx: Context, isUse: boolean) => Promise<Bearer>;

/**
 * Verifies access tokens, and leaves other credentials to `others`. No token with the prefix of access tokens is sent to the API server.
 *
 * @param judge undefined if the installation has no access tokens
 * @param identified returns the cached owner of a credential
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

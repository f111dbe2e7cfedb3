import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { StatusError, unauthorized } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import { LRUCache } from 'lru-cache';
import type { Bearer, Caller, ViewedAccess } from './caller.ts';
import { atMost } from './limits/bounded-cache.ts';
import { RateLimit } from './limits/rate-limit.ts';
import { headerValues } from './middleware/request-head.ts';

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
   * Returns the flow of the person whose session the browser has, if this replica knows the session. Makes no call, and proves no right to
   * anything but a place.
   */
  recognize?(ctx: Context): Promise<string | undefined>;
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
    ...(others.recognize && { recognize: others.recognize }),
    read: (ctx, isOptional) => (isAccessToken(ctx) ? ofAccessToken(ctx, true) : others.read(ctx, isOptional)),
    revalidate: (ctx) => (isAccessToken(ctx) ? ofAccessToken(ctx, false) : others.revalidate(ctx)),
    identify: (bearer, signal) => others.identify(bearer, signal),
    identified,
  };
}

/** RFC 6750 section 2.1 (b64token), case-insensitive scheme (RFC 9110 section 11.1). */
const bearerHeader = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i;

/**
 * The bearer token of a request, or undefined if there is no `Authorization` header at all.
 *
 * A header that is present is never ignored: another scheme, an empty token or a second header would otherwise turn a caller who
 * believes to be logged in into an anonymous one.
 *
 * @throws StatusError 401
 */
export function readBearer(request: IncomingMessage): Bearer | undefined {
  if (request.headers.authorization === undefined) return undefined;
  const given = headerValues(request, 'authorization');
  const token = given.length === 1 ? bearerHeader.exec(given[0] ?? '')?.[1] : undefined;
  if (token === undefined) throw unauthorized({ tokenGiven: true });
  return { token, hash: hash('sha256', token) };
}

const refusalsPerMinute = 600;
/** Twice the time for which the owner of a token is cached (60 s): cached tokens do not come this way. */
const acceptedMs = 120_000;
const maxAccepted = 20_000;

/**
 * Keeps clients that guess tokens from causing a call to the API server for each guess. Counts refused tokens per client network. Beyond
 * 600 a minute, tokens from there that were not accepted lately are 429 without a call. Tokens that the service verifies itself are
 * never refused here, because other clients share the network.
 */
export class TokenGuard {
  readonly #refusals: RateLimit;
  /** Hashes of accepted tokens, whose owners may share the network with a client that guesses. */
  readonly #accepted = new LRUCache<string, true>({ ...atMost(maxAccepted), ttl: acceptedMs, ttlResolution: 0 });

  /** @param clock milliseconds that only ever grow */
  constructor(clock?: () => number) {
    this.#refusals = new RateLimit({ limit: refusalsPerMinute, what: 'refused tokens', ...(clock && { clock }) });
  }

  /** Reports whether a credential was accepted lately, or verified by the service itself. */
  isAccepted({ hash: tokenHash, isVerified }: Bearer): boolean {
    return isVerified === true || this.#accepted.has(tokenHash);
  }

  /**
   * Asks the API server about a token.
   *
   * @throws StatusError 429, or what `call` throws
   */
  async ask<T>(source: string, bearer: Bearer, call: () => Promise<T>): Promise<T> {
    const { hash: tokenHash } = bearer;
    if (bearer.isVerified) return call();
    if (!this.isAccepted(bearer)) this.#refusals.requireRoom(source);
    try {
      const result = await call();
      this.#accepted.set(tokenHash, true);
      return result;
    } catch (error) {
      if (error instanceof StatusError && error.status.code === 401) {
        this.#accepted.delete(tokenHash);
        this.#refusals.take(source);
      }
      throw error;
    }
  }
}

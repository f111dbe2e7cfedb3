import { AsyncLocalStorage } from 'node:async_hooks';
import { type RateExceeded, RateLimit } from '@atrium/http/limits/rate-limit.ts';
import type { Context } from 'koa';
import type { Services } from '../services.ts';
import type { KnownBrowsers } from '../users/logins/known-browsers.ts';

/** Last known version of a record. */
interface KnownRecord {
  readonly resourceVersion: string;
  /** Payload without the expiry. */
  readonly content: string;
}

/** Request for which records are read and written: the provider does not pass it to its adapter. */
export interface RequestScope {
  readonly ctx: Context;
  readonly signal: AbortSignal;
  readonly now: () => Date;
  /** Address of the peer, or the one that a trusted proxy forwards for. */
  readonly source: string;
  /** The records that were read or written in this request, by object name. */
  readonly known: Map<string, KnownRecord>;
  /** Grants whose records this request has deleted. */
  readonly revoked: Set<string>;
  /** True once the caller has presented a code or token of this issuer. */
  isProven: boolean;
}

const scopes = new AsyncLocalStorage<RequestScope>();

export function inRequestScope<T>(ctx: Context, now: () => Date, run: () => Promise<T>): Promise<T> {
  const { signal, source } = ctx.state;
  return scopes.run({ ctx, signal, now, source, known: new Map(), revoked: new Set(), isProven: false }, run);
}

export function requestScope(): RequestScope {
  const scope = scopes.getStore();
  if (scope === undefined) throw new Error('a record was asked for outside of a request');
  return scope;
}

/** A login makes two requests at the relying party, and up to eight here: pages, forms, second factors and a mistyped password. */
const requestsPerLoginRequest = 4;
/** Documents that are the same for all callers. */
const staticPaths = new Set(['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server', '/jwks']);
/** Endpoints that relying parties, such as this service, call for all of their users. */
const relyingPartyPaths = new Set(['/token', '/token/revocation', '/me']);

/**
 * Counts requests to the issuer for each network, as `login.perMinute` counts logins. A relying party that presents a code or token of this
 * issuer is never limited; requests without one, such as guesses at a client secret, are.
 */
export class RequestLimit {
  readonly #limit: RateLimit;
  readonly #knownBrowsers: Pick<KnownBrowsers, 'take'>;

  constructor({ config, clock }: Pick<Services, 'config' | 'clock'>, knownBrowsers: Pick<KnownBrowsers, 'take'>) {
    this.#limit = new RateLimit({ limit: requestsPerLoginRequest * config.login.perMinute, clock });
    this.#knownBrowsers = knownBrowsers;
  }

  /** Counts a request of a browser. @returns the wait if the limit is exceeded; @throws StatusError 503 while there is no key */
  async count(ctx: Context, path: string): Promise<RateExceeded | undefined> {
    if (staticPaths.has(path) || relyingPartyPaths.has(path)) return undefined;
    const taken = await this.#knownBrowsers.take(ctx, this.#limit);
    return 'retryAfterSeconds' in taken ? taken : undefined;
  }

  /** Counts an answered request of a relying party that has presented no code or token of this issuer. @throws StatusError 429 */
  countUnproven(ctx: Context, path: string): void {
    if (relyingPartyPaths.has(path) && !requestScope().isProven) this.#limit.require(ctx.state.source);
  }
}

/** Verification of bearer tokens: those of the cluster itself, and those of issuers that it trusts. */
import { hash } from 'node:crypto';
import { decodeJwt } from 'jose';
import { LRUCache } from 'lru-cache';
import { TokenWebhook, type TokenWebhookOptions } from './token-webhook.ts';
import { ISSUER, type TokenIdentity, type TokenIssuer, type UserInfo } from './tokens.ts';
import { type IssuerOptions, TrustedIssuer } from './trusted-issuer.ts';

/** The API server caches a verified token for the same time, unless it expires sooner. */
const maxAgeMs = 10_000;
const maxEntries = 10_000;

interface Verified {
  user: UserInfo;
  from: number;
  until: number;
}

export class TokenAuthenticator {
  readonly #own: TokenIssuer;
  readonly #issuers = new Map<string, TrustedIssuer>();
  #webhook: TokenWebhook | undefined;
  readonly #verified = new LRUCache<string, Verified>({ max: maxEntries });
  readonly #now: () => Date;

  constructor(own: TokenIssuer, now: () => Date) {
    this.#own = own;
    this.#now = now;
  }

  /** Accepts tokens of an issuer. @throws TypeError for the name of the cluster itself */
  trust(options: IssuerOptions): void {
    if (options.url === ISSUER) throw new TypeError('the cluster issues its own tokens');
    void this.#issuers.get(options.url)?.close();
    this.#issuers.set(options.url, new TrustedIssuer(options, this.#now));
    this.#verified.clear();
  }

  /** Sets the webhook that reviews tokens which nothing else verifies. */
  ask(webhook: TokenWebhookOptions): void {
    void this.#webhook?.close();
    this.#webhook = new TokenWebhook(webhook);
    this.#verified.clear();
  }

  /** Returns the user of a token for the API server; undefined if the token is not valid. */
  async verify(token: string): Promise<UserInfo | undefined> {
    const now = this.#now().getTime();
    const key = hash('sha256', token);
    const known = this.#verified.get(key);
    if (known && known.from <= now && now < known.until) return known.user;
    const identity = await this.identify(token, []);
    if (!identity) return undefined;
    const { user, expiresAt } = identity;
    this.#verified.set(key, { user, from: now, until: Math.min(expiresAt * 1000, now + maxAgeMs) });
    return user;
  }

  /** Verifies a token for any of `audiences` (empty: the API server) like `verify`, and never from the cache. */
  async identify(token: string, audiences: readonly string[]): Promise<TokenIdentity | undefined> {
    const issuer = this.#issuers.get(issuerOf(token));
    if (!issuer) return (await this.#own.identify(token, audiences)) ?? this.#askWebhook(token, audiences);
    // The audiences of an issuer's token are checked when it is verified: a valid token is one for the API server.
    if (audiences.length > 0 && !audiences.includes(ISSUER)) return undefined;
    try {
      return { ...(await issuer.identify(token)), audiences: [ISSUER] };
    } catch {
      // Every failure has the same answer, 401.
      return undefined;
    }
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#issuers.values()].map((issuer) => issuer.close()));
    await this.#webhook?.close();
  }

  async #askWebhook(token: string, audiences: readonly string[]): Promise<TokenIdentity | undefined> {
    const wanted = audiences.length > 0 ? audiences : [ISSUER];
    // A webhook that does not answer accepts no token.
    const identity = await this.#webhook?.identify(token, wanted, ISSUER).catch(() => undefined);
    return identity && { ...identity, expiresAt: Number.POSITIVE_INFINITY };
  }
}

function issuerOf(token: string): string {
  try {
    return decodeJwt(token).iss ?? '';
  } catch {
    return '';
  }
}

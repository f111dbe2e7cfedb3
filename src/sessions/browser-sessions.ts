import { hash } from 'node:crypto';
import { type HostCookie, isSecret, newSecret } from '@atrium/http/cookies/cookies.ts';
import { atMost } from '@atrium/http/limits/bounded-cache.ts';
import type { Seal } from '@atrium/http/seal.ts';
import { timestampOf } from '@atrium/kubernetes/clock.ts';
import type { TokenSet } from '@atrium/oidc-client/types.ts';
import type { Context } from 'koa';
import { LRUCache } from 'lru-cache';
import { auditOrigin } from '../audit/audit.ts';
import type { Config } from '../config/schema.ts';
import type { Issuers } from '../issuer/issuers.ts';
import { VerifiedLogin } from '../issuer/verified-login.ts';
import type { Services } from '../services.ts';
import type { LoginFacts } from './login-facts.ts';
import { readSecrets, type SessionRow, type SessionSecrets, sessionName, sessionObject, writeSecrets } from './record.ts';
import type { SessionStore } from './store.ts';

/** Maximum of unsealed sessions in memory, with their tokens in plain text. */
const maxOpen = 5_000;
/** The idle expiry is extended after this part of the idle time. */
const idleParts = 20;
/** Pause after a failed extension of the idle expiry. */
const idleRetryMs = 5_000;
/** Time after a new login in which requests with the browser's previous cookie may arrive. */
const replacedMs = 10_000;
/** Time after which a refusal is late: the browser may have logged in again since it sent the request. */
const lateMs = 3_000;

/** A session with its unsealed secrets. */
export interface Session {
  readonly row: SessionRow;
  readonly secrets: SessionSecrets;
  /** SHA-256 of the credential. */
  readonly bearerHash: string;
  /** Undefined if the issuer of the login is no longer configured. */
  readonly verified: VerifiedLogin | undefined;
}

/** A login with its tokens. */
export interface NewSession extends Pick<Session, 'verified'> {
  tokens: TokenSet;
  login: LoginFacts;
}

/** Sessions of browsers. A cookie has a random secret, whose hash names the Session object with the tokens. */
export class BrowserSessions {
  readonly #services: Pick<Services, 'log' | 'now' | 'clock'>;
  readonly #times: Config['login']['session'];
  readonly #seal: Seal;
  readonly #store: SessionStore;
  readonly #cookie: HostCookie;
  readonly #issuers: Issuers;
  readonly #open = new LRUCache<string, Session>(atMost(maxOpen));
  readonly #prolonged = new LRUCache<string, number>(atMost(maxOpen));
  /** Names of sessions that their browser left a moment ago. */
  readonly #replaced = new LRUCache<string, true>({ ...atMost(maxOpen), ttl: replacedMs });

  constructor(
    services: Pick<Services, 'config' | 'keyRing' | 'log' | 'now' | 'clock'>,
    { store, cookie, issuers }: { store: SessionStore; cookie: HostCookie; issuers: Issuers },
  ) {
    this.#services = services;
    this.#issuers = issuers;
    this.#times = services.config.login.session;
    this.#seal = services.keyRing.sealFor('session');
    this.#store = store;
    this.#cookie = cookie;
  }

  /**
   * Returns the session of a cookie if it has not expired, and extends the idle expiry if `isUse`. Makes no call, unless the session is so
   * new that the watch has not delivered it yet.
   *
   * @throws StatusError 503 if the sessions are unknown
   */
  async find(secret: string, source: string, signal: AbortSignal, isUse: boolean): Promise<Session | undefined> {
    if (!isSecret(secret)) return undefined;
    return this.#living(await this.#store.find(sessionName(secret), source, signal), isUse);
  }

  /** Returns the session of a cookie if this replica knows it. Makes no call, and is no use. @throws StatusError 503 while there are no keys */
  async known(secret: string): Promise<Session | undefined> {
    return isSecret(secret) ? this.#living(this.#store.get(sessionName(secret)), false) : undefined;
  }

  async #living(row: SessionRow | undefined, isUse: boolean): Promise<Session | undefined> {
    if (row === undefined) return undefined;
    const now = this.#services.now().getTime();
    if (now >= row.idleExpiresAt || this.#services.clock() >= row.idleEndsAt) return undefined;
    if (isUse) this.#prolong(row, now);
    return this.open(row);
  }

  /** Returns the session of that name from the cache. @throws StatusError 503 while there are no keys */
  async current(name: string): Promise<Session | undefined> {
    const row = this.#store.get(name);
    return row && this.open(row);
  }

  /** Reads the session from the API server. @throws StatusError 503, 504 */
  async latest({ row }: Session, signal: AbortSignal): Promise<Session | undefined> {
    const latest = await this.#store.read(row.name, signal);
    return latest && this.open(latest);
  }

  /** Unseals a session and caches it; undefined unless this service has sealed it for that name. @throws StatusError 503 without keys */
  async open(row: SessionRow): Promise<Session | undefined> {
    const known = this.#open.get(row.name);
    if (known?.row === row) return known;
    const session = known?.row.sealed === row.sealed ? { ...known, row } : await this.unseal(row);
    if (session !== undefined) this.#open.set(row.name, session);
    return session;
  }

  /**
   * Creates a session under a new secret, and sets its cookie. The previous session of the browser ends.
   *
   * @throws StatusError 503, 504
   */
  async create(ctx: Context, { tokens, login, verified }: NewSession, signal: AbortSignal): Promise<Session> {
    const secret = newSecret();
    const secrets = { tokens, login, handle: newSecret() };
    const name = sessionName(secret);
    const { source, userAgent } = auditOrigin(ctx);
    const sealed = this.seal(name, secrets);
    const row = await this.#store.create(sessionObject(login, { name, source, userAgent, sealed, idleMs: this.#times.idle }), signal);
    await this.leave(ctx, signal);
    this.#cookie.set(ctx, secret);
    const session = { row, secrets, bearerHash: hash('sha256', tokens.bearer), verified };
    this.#open.set(name, session);
    return session;
  }

  /**
   * Expires the cookie of a session that has ended, unless the browser has just logged in, or may have done so at another replica while
   * this request waited: the response to a request from before the login would expire the new cookie.
   */
  expireCookie(ctx: Context, secret: string): void {
    if (performance.now() - ctx.state.startedAt > lateMs) return;
    if (!isSecret(secret) || !this.#replaced.has(sessionName(secret))) this.#cookie.expire(ctx);
  }

  /** Ends the session of this browser, if any. Never throws: a session that cannot be deleted expires. */
  async leave(ctx: Context, signal: AbortSignal): Promise<void> {
    const secret = this.#cookie.read(ctx);
    if (secret === undefined) return;
    this.#cookie.expire(ctx);
    if (!isSecret(secret)) return;
    this.#replaced.set(sessionName(secret), true);
    try {
      const row = await this.#store.find(sessionName(secret), auditOrigin(ctx).source, signal);
      if (row !== undefined) await this.#store.remove(row, signal);
    } catch (error) {
      this.#services.log.warn({ err: error }, 'previous session of a browser could not be ended');
    }
  }

  /** @throws StatusError 503, 504 */
  async end({ row }: Session, signal: AbortSignal): Promise<void> {
    this.#open.delete(row.name);
    await this.#store.remove(row, signal);
  }

  /** Returns the value of `spec.sealed` for that session. @throws StatusError 503 while there is no key */
  seal(name: string, secrets: SessionSecrets): string {
    return this.#seal.seal(writeSecrets(name, secrets));
  }

  /** Unseals a session like `open`, without caching it. @throws StatusError 503 while there are no keys */
  async unseal(row: SessionRow): Promise<Session | undefined> {
    const text = await this.#seal.open(row.sealed);
    const secrets = text === undefined ? undefined : readSecrets(row.name, text);
    return secrets && { row, secrets, bearerHash: hash('sha256', secrets.tokens.bearer), verified: this.#verified(secrets) };
  }

  #verified({ login, tokens }: SessionSecrets): VerifiedLogin | undefined {
    return this.#issuers.has(login.iss) ? new VerifiedLogin(this.#issuers.of(login), tokens.claims) : undefined;
  }

  /** Extends the idle expiry in the background. If that fails, the session lasts until the stored expiry. */
  #prolong(row: SessionRow, now: number): void {
    const { clock, log } = this.#services;
    const times = this.#times;
    const leftMs = Math.min(times.idle, row.endsAt - clock());
    const triedAt = this.#prolonged.get(row.name) ?? Number.NEGATIVE_INFINITY;
    if (clock() + leftMs - row.idleEndsAt < times.idle / idleParts || clock() - triedAt < idleRetryMs) return;
    this.#prolonged.set(row.name, clock());
    this.#store.prolong(row, timestampOf((now + leftMs) / 1000), AbortSignal.timeout(idleRetryMs)).catch((error: unknown) => {
      log.warn({ err: error }, 'idle expiry of a session could not be extended');
    });
  }
}

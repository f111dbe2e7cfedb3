import { hash } from 'node:crypto';
import type { Context } from 'koa';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { Config } from '../config/schema.ts';
import { auditOrigin } from '../http/audit.ts';
import { atMost } from '../http/bound.ts';
import type { TokenSet } from '../issuer/types.ts';
import type { Seal } from '../keys/seal.ts';
import { timestamp } from '../kubernetes/timestamp.ts';
import { userApiVersion } from '../users/record/resource.ts';
import { isSecret, newSecret, type SessionCookie } from './cookie.ts';
import type { LoginFacts } from './login-facts.ts';
import { loginLabels, readSecrets, type SessionRow, type SessionSecrets, sessionName, writeSecrets } from './record.ts';
import type { SessionStore } from './store.ts';

/** How many sessions are kept opened; their tokens are in memory in the clear for that long. */
const maxOpen = 5_000;
/** The idle end is moved when it has come nearer by this part of the idle time. */
const idleParts = 20;
/** Pause after an idle end could not be moved. */
const idleRetryMs = 5_000;

/** A session with what is sealed in it. */
export interface Session {
  readonly row: SessionRow;
  readonly secrets: SessionSecrets;
  /** SHA-256 of the credential in it. */
  readonly bearerHash: string;
}

/** A login, and the tokens that came with it. */
export interface NewSession {
  tokens: TokenSet;
  login: LoginFacts;
}

export interface SessionsOptions {
  store: SessionStore;
  /** Of the key ring, for this purpose alone. */
  seal: Seal;
  cookie: SessionCookie;
  times: Config['login']['session'];
  /** What follows when a session has begun. Never throws. */
  whenBegun: (ctx: Context, row: SessionRow, signal: AbortSignal) => Promise<void>;
  log: Logger;
  now: () => Date;
  /** Milliseconds that only ever grow. */
  clock: () => number;
}

/** The sessions of browsers: a random secret in a cookie, whose hash names a Session object that holds the tokens. */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #open = new LRUCache<string, Session>(atMost(maxOpen));
  readonly #prolonged = new LRUCache<string, number>(atMost(maxOpen));

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /**
   * The session that a cookie stands for, if it counts at this moment; its use moves the idle end, if this is one. Makes no call,
   * unless the session is so new that the watch has not told of it yet.
   *
   * @throws StatusError 503 if that is not known
   */
  async find(secret: string, source: string, signal: AbortSignal, isUse: boolean): Promise<Session | undefined> {
    if (!isSecret(secret)) return undefined;
    const row = await this.#options.store.find(sessionName(secret), source, signal);
    if (row === undefined) return undefined;
    const now = this.#options.now().getTime();
    if (now >= row.idleExpiresAt || this.#options.clock() >= row.idleEndsAt) return undefined;
    if (isUse) this.#prolong(row, now);
    return this.open(row);
  }

  /** As it is now, by name. @throws StatusError 503 while there are no keys */
  async current(name: string): Promise<Session | undefined> {
    const row = this.#options.store.get(name);
    return row && this.open(row);
  }

  /** Undefined if what is sealed in it was not sealed by us, for it. @throws StatusError 503 while there are no keys */
  async open(row: SessionRow): Promise<Session | undefined> {
    const known = this.#open.get(row.name);
    if (known?.row === row) return known;
    const session = known?.row.sealed === row.sealed ? { ...known, row } : await this.unseal(row);
    if (session !== undefined) this.#open.set(row.name, session);
    return session;
  }

  /**
   * Begins a session under a new secret, and gives the browser its cookie. The session that this browser had before ends, and the oldest
   * of a user who has too many.
   *
   * @throws StatusError 503, 504
   */
  async create(ctx: Context, { tokens, login }: NewSession, signal: AbortSignal): Promise<Session | undefined> {
    const { store, cookie, times, whenBegun } = this.#options;
    const { user, userUID, subjectName, issuerLogin } = login;
    const secret = newSecret();
    const name = sessionName(secret);
    const [createdAt, expiresAt] = [login.at * 1000, login.expiresAt * 1000];
    const { source, userAgent } = auditOrigin(ctx);
    const owner = { apiVersion: userApiVersion, kind: 'User', name: user, uid: userUID };
    const row = await store.create(
      {
        apiVersion: 'auth.platform.io/v1',
        kind: 'Session',
        metadata: {
          name,
          labels: loginLabels(issuerLogin),
          ...(userUID !== undefined && { ownerReferences: [owner] }),
        },
        spec: {
          user,
          ...(userUID !== undefined && { userUID }),
          subjectName,
          createdAt: timeText(createdAt),
          expiration: timeText(expiresAt),
          idleExpiration: timeText(Math.min(createdAt + times.idle, expiresAt)),
          source: source.slice(0, 64),
          userAgent,
          sealed: this.seal(name, { tokens, login, handle: newSecret() }),
        },
      },
      signal,
    );
    await this.leave(ctx, signal);
    cookie.set(ctx, secret);
    await whenBegun(ctx, row, signal);
    return this.open(row);
  }

  /** Ends the session that this browser has, if any. Never throws: what cannot be deleted ends by itself. */
  async leave(ctx: Context, signal: AbortSignal): Promise<void> {
    const { store, cookie, log } = this.#options;
    const secret = cookie.read(ctx);
    if (secret === undefined) return;
    cookie.expire(ctx);
    if (!isSecret(secret)) return;
    try {
      const row = await store.find(sessionName(secret), auditOrigin(ctx).source, signal);
      if (row !== undefined) await store.remove(row, signal);
    } catch (error) {
      log.warn({ err: error }, 'the older session of a browser could not be ended');
    }
  }

  /** @throws StatusError 503, 504 */
  async end({ row }: Session, signal: AbortSignal): Promise<void> {
    this.#open.delete(row.name);
    await this.#options.store.remove(row, signal);
  }

  /** What is to be written as `spec.sealed` of that session. @throws StatusError 503 while there is no key */
  seal(name: string, secrets: SessionSecrets): string {
    return this.#options.seal.seal(writeSecrets(name, secrets));
  }

  /** As `open`, for a look: it is not kept. @throws StatusError 503 while there are no keys */
  async unseal(row: SessionRow): Promise<Session | undefined> {
    const text = await this.#options.seal.open(row.sealed);
    const secrets = text === undefined ? undefined : readSecrets(row.name, text);
    return secrets && { row, secrets, bearerHash: hash('sha256', secrets.tokens.bearer) };
  }

  /** In the background: no request waits for it, and the session lives on without it until the end that is written. */
  #prolong(row: SessionRow, now: number): void {
    const { store, times, clock, log } = this.#options;
    const leftMs = Math.min(times.idle, row.endsAt - clock());
    const triedAt = this.#prolonged.get(row.name) ?? Number.NEGATIVE_INFINITY;
    if (clock() + leftMs - row.idleEndsAt < times.idle / idleParts || clock() - triedAt < idleRetryMs) return;
    this.#prolonged.set(row.name, clock());
    store.prolong(row, timeText(now + leftMs), AbortSignal.timeout(idleRetryMs)).catch((error: unknown) => {
      log.warn({ err: error }, 'the idle end of a session could not be moved');
    });
  }
}

/** RFC 3339 in whole seconds. */
const timeText = (milliseconds: number) => timestamp(new Date(milliseconds));

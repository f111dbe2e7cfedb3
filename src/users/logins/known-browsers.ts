import { randomBytes } from 'node:crypto';
import type { Context } from 'koa';
import { z } from 'zod';
import { type HostCookie, hostCookie } from '../../http/host-cookie.ts';
import type { RateExceeded, RateLimit } from '../../http/rate-limit.ts';
import { stateOf } from '../../http/request-state.ts';
import type { Seal } from '../../keys/seal.ts';
import type { Services } from '../../services.ts';

/** Since the last login. */
const lifeSeconds = 90 * 86_400;

const content = z.object({
  id: z.string(),
  user: z.string(),
  /** Unix seconds. */
  exp: z.number(),
});

/** A browser that a user has logged in with. */
export interface KnownBrowser {
  /** Random, of the browser. */
  readonly id: string;
  /** uid of the User record. */
  readonly user: string;
}

/**
 * Browsers that a user has logged in with before, by a sealed cookie ("device cookies" of OWASP). Failures of strangers at the same
 * address, which may be that of a proxy, do not count against them. The cookie is no credential: it gives a bucket of its own at limits,
 * and nothing else.
 */
export class KnownBrowsers {
  readonly #cookie: HostCookie;
  readonly #seal: Seal;
  readonly #now: () => Date;

  constructor({ keyRing, cookies, now }: Pick<Services, 'keyRing' | 'cookies' | 'now'>) {
    this.#cookie = hostCookie(cookies, { purpose: 'browser', maxAgeSeconds: lifeSeconds });
    this.#seal = keyRing.sealFor('known browser');
    this.#now = now;
  }

  /** Undefined also for a cookie that is not ours or too old. @throws StatusError 503 while there is no key */
  async find(ctx: Context): Promise<KnownBrowser | undefined> {
    const value = this.#cookie.read(ctx);
    const text = value && (await this.#seal.open(value));
    if (!text) return undefined;
    // What another release has sealed is no reason to refuse a login.
    const { success, data } = content.safeParse(JSON.parse(text));
    return success && this.#seconds() < data.exp ? { id: data.id, user: data.user } : undefined;
  }

  /** After a login of that user. @param user uid of the record @throws StatusError 503 while there is no key */
  async remember(ctx: Context, user: string): Promise<void> {
    const known = await this.find(ctx);
    const id = known?.user === user ? known.id : randomBytes(16).toString('base64url');
    this.#cookie.set(ctx, this.#seal.seal(JSON.stringify({ id, user, exp: this.#seconds() + lifeSeconds })));
  }

  /**
   * Counts one request: of a known browser with its user, whatever the number of browsers; else, and when there is no room, with its
   * address.
   *
   * @returns what it counted with, to be given back, or why it is one too many
   * @throws StatusError 503 while there is no key
   */
  async take(ctx: Context, limit: RateLimit): Promise<{ source: string } | RateExceeded> {
    const { source } = stateOf(ctx);
    const known = await this.find(ctx);
    const ofUser = `user ${known?.user}`;
    if (known !== undefined && limit.take(ofUser) === undefined) return { source: ofUser };
    return limit.take(source) ?? { source };
  }

  #seconds(): number {
    return Math.floor(this.#now().getTime() / 1000);
  }
}

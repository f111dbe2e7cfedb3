import { randomBytes } from 'node:crypto';
import { type HostCookie, hostCookie } from '@atrium/http/cookies/cookies.ts';
import type { RateExceeded, RateLimit } from '@atrium/http/limits/rate-limit.ts';
import type { Seal } from '@atrium/http/seal.ts';
import type { Context } from 'koa';
import { z } from 'zod';
import type { Services } from '../../services.ts';

/** Lifetime of the cookie after the last login. */
const lifeSeconds = 90 * 86_400;

const content = z.object({
  id: z.string(),
  user: z.string(),
  /** Unix seconds. */
  exp: z.number(),
});

/** Browser that a user has logged in with. */
export interface KnownBrowser {
  /** Random identifier of the browser. */
  readonly id: string;
  /** UID of the User record. */
  readonly user: string;
}

/**
 * Recognizes browsers that a user has logged in with before, by a sealed cookie ("device cookies" of OWASP). Failures of strangers at the
 * same address, such as that of a proxy, do not count against them. The cookie is no credential, and only selects a bucket of its own in
 * rate limits.
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

  /** Returns undefined without a cookie, or if it is forged or expired. @throws StatusError 503 while there is no key */
  async find(ctx: Context): Promise<KnownBrowser | undefined> {
    ctx.state.knownBrowser ??= (await this.#open(ctx)) ?? 'unknown';
    return ctx.state.knownBrowser === 'unknown' ? undefined : ctx.state.knownBrowser;
  }

  async #open(ctx: Context): Promise<KnownBrowser | undefined> {
    const value = this.#cookie.read(ctx);
    const text = value && (await this.#seal.open(value));
    if (!text) return undefined;
    // A cookie that another release has sealed must not refuse a login.
    const { success, data } = content.safeParse(JSON.parse(text));
    return success && this.#seconds() < data.exp ? { id: data.id, user: data.user } : undefined;
  }

  /**
   * Sets the cookie after a login.
   *
   * @param user UID of the record
   * @throws StatusError 503 while there is no key
   */
  async remember(ctx: Context, user: string): Promise<void> {
    const known = await this.find(ctx);
    const id = known?.user === user ? known.id : randomBytes(16).toString('base64url');
    this.#cookie.set(ctx, this.#seal.seal(JSON.stringify({ id, user, exp: this.#seconds() + lifeSeconds })));
  }

  /**
   * Counts a request against the user of a known browser, however many browsers the user has. Without a known browser, or if the user's
   * limit is reached, counts it against the address.
   *
   * @returns the key of the count, to give it back, or the exceeded limit
   * @throws StatusError 503 while there is no key
   */
  async take(ctx: Context, limit: RateLimit): Promise<{ source: string } | RateExceeded> {
    const { source } = ctx.state;
    const known = await this.find(ctx);
    const ofUser = `user ${known?.user}`;
    if (known !== undefined && limit.take(ofUser) === undefined) return { source: ofUser };
    return limit.take(source) ?? { source };
  }

  #seconds(): number {
    return Math.floor(this.#now().getTime() / 1000);
  }
}

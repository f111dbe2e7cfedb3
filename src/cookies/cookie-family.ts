import type { Context } from 'koa';
import { addCookies, type CookieNames, expired, hostAttributes, isAnswered, sentCookies, sentOnce } from './cookies.ts';

/** Fewer than what makes a request too large for a proxy, and more than a user has tabs for. */
const maxKept = 5;
const maxExpired = 2 * maxKept;

interface CookieFamilyOptions {
  purpose: string;
  /** Bound of all members, names included. The newest member is kept whatever its size. */
  maxBytes: number;
}

/**
 * Cookies of one purpose, so that tabs do not disturb each other. A browser keeps at most five; the oldest are expired. An answer expires at
 * most twice as many, however many a request holds.
 */
export class CookieFamily {
  readonly #prefix: string;
  readonly #attributes: string;
  readonly #maxBytes: number;

  constructor(names: CookieNames, { purpose, maxBytes }: CookieFamilyOptions) {
    this.#prefix = `${names.host(purpose)}_`;
    this.#attributes = hostAttributes(names);
    this.#maxBytes = maxBytes;
  }

  find(ctx: Context, member: string): string | undefined {
    return sentOnce(ctx, this.#prefix + member);
  }

  set(ctx: Context, member: string, value: string, maxAgeSeconds: number): void {
    const name = this.#prefix + member;
    const cookies = new Map(this.#surplus(ctx, name, name.length + value.length).map((other) => [other, this.#end()]));
    addCookies(ctx, cookies.set(name, `${value}; ${this.#attributes}; Max-Age=${maxAgeSeconds}`));
  }

  /** Expires a member that the browser has, or that this answer would set. */
  expire(ctx: Context, member: string): void {
    const name = this.#prefix + member;
    if (sentCookies(ctx).has(name) || isAnswered(ctx, name)) addCookies(ctx, new Map([[name, this.#end()]]));
  }

  #end(): string {
    return `; ${this.#attributes}; ${expired}`;
  }

  /** Returns the names of the oldest members that do not fit beside a new one, and of members that were sent twice, which are not valid. */
  #surplus(ctx: Context, name: string, bytes: number): string[] {
    // A browser sends the oldest first (RFC 6265, 5.4).
    const others = [...sentCookies(ctx)].filter(([other]) => other.startsWith(this.#prefix) && other !== name);
    let total = bytes;
    let kept = 1;
    const isSurplus = ([other, [value = '', ...more]]: (typeof others)[number]) => {
      total += other.length + value.length;
      const fits = more.length === 0 && kept < maxKept && total <= this.#maxBytes;
      if (fits) kept += 1;
      return !fits;
    };
    const surplus = others.toReversed().filter(isSurplus).toReversed();
    return surplus.slice(0, maxExpired).map(([other]) => other);
  }
}

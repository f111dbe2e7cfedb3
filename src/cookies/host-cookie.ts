import type { Context } from 'koa';
import { addCookies, type CookieNames, expired, hostAttributes, isAnswered, sentCookies, sentOnce } from './cookies.ts';

/** A cookie for all of this service, and for no script. */
export interface HostCookie {
  /** Returns the value that the browser sent, whatever it is. Undefined if it sent none, or two; two are expired. */
  read(ctx: Context): string | undefined;
  set(ctx: Context, value: string): void;
  expire(ctx: Context): void;
}

interface HostCookieOptions {
  purpose: string;
  /** Default: as long as the browser runs. */
  maxAgeSeconds?: number;
}

export function hostCookie(names: CookieNames, { purpose, maxAgeSeconds }: HostCookieOptions): HostCookie {
  const name = names.host(purpose);
  const attributes = hostAttributes(names);
  const maxAge = maxAgeSeconds === undefined ? '' : `; Max-Age=${maxAgeSeconds}`;
  const put = (ctx: Context, value: string) => addCookies(ctx, new Map([[name, value]]));
  const expire = (ctx: Context) => put(ctx, `; ${attributes}; ${expired}`);
  return {
    read(ctx) {
      // Without this a user could not log in until the browser forgets the cookies.
      if ((sentCookies(ctx).get(name)?.length ?? 0) > 1 && !isAnswered(ctx, name)) expire(ctx);
      return sentOnce(ctx, name);
    },
    set: (ctx, value) => put(ctx, `${value}; ${attributes}${maxAge}`),
    expire,
  };
}

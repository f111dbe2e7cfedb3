import type { Context } from 'koa';

/** A cookie for all of this service, and for no script. */
export interface HostCookie {
  /** What the browser sent under the name of the cookie, whatever it is; undefined if it sent none. */
  read(ctx: Context): string | undefined;
  set(ctx: Context, value: string): void;
  expire(ctx: Context): void;
}

interface HostCookieOptions {
  name: string;
  /** Whether the public URL is https. */
  isSecure: boolean;
  /** Default: as long as the browser runs. */
  maxAgeSeconds?: number;
}

/**
 * A browser takes a cookie named `__Host-` only with Secure, Path=/ and no Domain, so that no neighbour can plant one (RFC 6265bis 4.1.3.2).
 * Over plain http there is no such protection.
 */
export function hostCookie({ name: plainName, isSecure, maxAgeSeconds }: HostCookieOptions): HostCookie {
  const name = `${isSecure ? '__Host-' : ''}${plainName}`;
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  const maxAge = maxAgeSeconds === undefined ? '' : `; Max-Age=${maxAgeSeconds}`;
  const put = (ctx: Context, value: string) => {
    const others = [ctx.response.headers['set-cookie'] ?? []].flat().filter((cookie) => !String(cookie).startsWith(`${name}=`));
    ctx.set('Set-Cookie', [...others.map(String), value]);
  };
  return {
    read(ctx) {
      const { cookie } = ctx.req.headers;
      if (cookie === undefined) return undefined;
      for (const pair of cookie.split(';')) {
        const [key = '', value = ''] = pair.split('=', 2);
        if (key.trim() === name) return value.trim();
      }
      return undefined;
    },
    set: (ctx, value) => put(ctx, `${name}=${value}; ${attributes}${maxAge}`),
    expire: (ctx) => put(ctx, `${name}=; ${attributes}; Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:00 GMT`),
  };
}

import { randomBytes } from 'node:crypto';
import type { Context } from 'koa';

/** The reference to a session that a browser keeps (docs/contract/login.md). It holds a secret and nothing else. */
export interface SessionCookie {
  /** What the browser sent under the name of the cookie, whatever it is; undefined if it sent none. */
  read(ctx: Context): string | undefined;
  set(ctx: Context, secret: string): void;
  expire(ctx: Context): void;
}

/** 256 random bits, as base64url. */
export const newSecret = (): string => randomBytes(32).toString('base64url');

/** Whether a text may be what `newSecret` made. */
export const isSecret = (text: string): boolean => /^[A-Za-z0-9_-]{43}$/.test(text);

/**
 * A browser takes a cookie named `__Host-` only with Secure, Path=/ and no Domain, so that no neighbour can plant one (RFC 6265bis 4.1.3.2).
 * Over plain http there is no such protection.
 */
export function sessionCookie({ isSecure }: { isSecure: boolean }): SessionCookie {
  const name = `${isSecure ? '__Host-' : ''}atrium_session`;
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  const put = (ctx: Context, value: string) => {
    const others = [ctx.response.headers['set-cookie'] ?? []].flat().filter((cookie) => !String(cookie).startsWith(`${name}=`));
    ctx.set('Set-Cookie', [...others.map(String), value]);
  };
  return {
    read(ctx) {
      for (const pair of ctx.get('Cookie').split(';')) {
        const [key = '', value = ''] = pair.split('=', 2);
        if (key.trim() === name) return value.trim();
      }
      return undefined;
    },
    set: (ctx, secret) => put(ctx, `${name}=${secret}; ${attributes}`),
    expire: (ctx) => put(ctx, `${name}=; ${attributes}; Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:00 GMT`),
  };
}

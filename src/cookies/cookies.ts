import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Context } from 'koa';

/** Hexadecimal digits of the hash of `server.publicURL` in each cookie name. */
const idLength = 8;

/** Names the cookies of one installation. Another installation on the same host has other names, and neither touches the other's. */
export interface CookieNames {
  readonly isSecure: boolean;
  /**
   * Returns the name of a cookie for the whole host. A browser accepts `__Host-` only with Secure, Path=/ and without Domain, so a sibling
   * subdomain cannot plant one (RFC 6265bis 4.1.3.2). Over plain http there is no such protection.
   */
  host(purpose: string): string;
  /** Returns the name of a cookie with a path of its own, which `__Host-` excludes. */
  path(purpose: string): string;
}

export function cookieNames(publicURL: string | undefined): CookieNames {
  const url = publicURL === undefined ? undefined : new URL(publicURL);
  const isSecure = url?.protocol === 'https:';
  const id = hash('sha256', url?.href.replace(/\/{1,8}$/, '') ?? '').slice(0, idLength);
  const name = (prefix: string, purpose: string) => `${isSecure ? prefix : ''}atrium_${purpose}_${id}`;
  return { isSecure, host: (purpose) => name('__Host-', purpose), path: (purpose) => name('__Secure-', purpose) };
}

type SentCookies = ReadonlyMap<string, readonly string[]>;

const sentKey = Symbol('cookies');

/** A WeakMap would keep each request until the next major collection. */
type RequestWithCookies = IncomingMessage & { [sentKey]?: SentCookies };

/** Returns the cookies of a request by name, parsed once. */
export function sentCookies({ req }: { req: RequestWithCookies }): SentCookies {
  req[sentKey] ??= parseCookies(req.headers.cookie ?? '');
  return req[sentKey];
}

function parseCookies(header: string): SentCookies {
  const cookies = new Map<string, string[]>();
  for (const pair of header.split(';')) {
    const equals = pair.indexOf('=');
    if (equals < 0) continue;
    const name = pair.slice(0, equals).trim();
    const value = pair.slice(equals + 1).trim();
    const values = cookies.get(name);
    if (values === undefined) cookies.set(name, [value]);
    else values.push(value);
  }
  return cookies;
}

/** Returns the value of a cookie that was sent once. Two cookies of one name do not say which one is ours, so neither is valid. */
export function sentOnce(ctx: Pick<Context, 'req'>, name: string): string | undefined {
  const [value, ...others] = sentCookies(ctx).get(name) ?? [];
  return others.length === 0 ? value : undefined;
}

/** The attributes of all cookies for the whole host. */
export const hostAttributes = ({ isSecure }: CookieNames): string => `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;

export const expired = 'Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:00 GMT';

const linesOf = (ctx: Context) => [ctx.response.headers['set-cookie'] ?? []].flat().map(String);
const nameOf = (line: string) => line.slice(0, line.indexOf('='));

/** Returns whether the answer already sets or expires a cookie of that name. */
export const isAnswered = (ctx: Context, name: string): boolean => linesOf(ctx).some((line) => nameOf(line) === name);

/** Adds cookies to the answer, by name, with value and attributes. Sets the header once; a cookie replaces an earlier one of its name. */
export function addCookies(ctx: Context, cookies: ReadonlyMap<string, string>): void {
  const others = linesOf(ctx).filter((line) => !cookies.has(nameOf(line)));
  ctx.set('Set-Cookie', [...others, ...[...cookies].map(([name, rest]) => `${name}=${rest}`)]);
}

import { hash, randomBytes } from 'node:crypto';
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
function sentCookies({ req }: { req: RequestWithCookies }): SentCookies {
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
export function singleCookie(ctx: Pick<Context, 'req'>, name: string): string | undefined {
  const [value, ...others] = sentCookies(ctx).get(name) ?? [];
  return others.length === 0 ? value : undefined;
}

/** The attributes of all cookies for the whole host. */
const hostAttributes = ({ isSecure }: CookieNames): string => `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;

const expired = 'Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:00 GMT';

const linesOf = (ctx: Context) => [ctx.response.headers['set-cookie'] ?? []].flat().map(String);
const nameOf = (line: string) => line.slice(0, line.indexOf('='));

/** Returns whether the answer already sets or expires a cookie of that name. */
const isAnswered = (ctx: Context, name: string): boolean => linesOf(ctx).some((line) => nameOf(line) === name);

/** Adds cookies to the answer, by name, with value and attributes. Sets the header once; a cookie replaces an earlier one of its name. */
function addCookies(ctx: Context, cookies: ReadonlyMap<string, string>): void {
  const others = linesOf(ctx).filter((line) => !cookies.has(nameOf(line)));
  ctx.set('Set-Cookie', [...others, ...[...cookies].map(([name, rest]) => `${name}=${rest}`)]);
}

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
      return singleCookie(ctx, name);
    },
    set: (ctx, value) => put(ctx, `${value}; ${attributes}${maxAge}`),
    expire,
  };
}

/** Fewer than what makes a request too large for a proxy, and more than a user has tabs for. */
const maxKept = 5;
const maxExpired = 2 * maxKept;

interface CookieFamilyOptions {
  purpose: string;
  /** Bound of all members, names included. The newest member is kept whatever its size. */
  maxBytes: number;
}

/**
 * Cookies of one purpose, so that tabs do not disturb each other. A browser keeps at most five; the oldest are expired. An answer expires
 * at most twice as many, however many a request holds.
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
    return singleCookie(ctx, this.#prefix + member);
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

/** 256 random bits, as base64url. */
export const newSecret = (): string => randomBytes(32).toString('base64url');

/** Reports whether a text has the form of `newSecret`. */
export const isSecret = (text: string): boolean => /^[A-Za-z0-9_-]{43}$/.test(text);

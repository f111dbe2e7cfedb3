import { hash } from 'node:crypto';
import type { Context } from 'koa';
import type { AdapterPayload } from 'oidc-provider';
import { z } from 'zod';
import { isRecord } from '../api/reader.ts';
import type { Seal } from '../keys/seal.ts';
import { errors } from './oidc-provider.ts';
import { requestScope } from './request-scope.ts';

/** What a browser takes, name and attributes included, is 4096 bytes (RFC 6265, 6.1). */
const maxValueBytes = 3800;
const maxKept = 5;
const maxKeptBytes = 6 * 1024;

const sealedPayload = z.custom<AdapterPayload>(isRecord);

interface BrowserRecordsOptions {
  seal: Seal;
  /** Of the cookies. */
  prefix: string;
  path: string;
  now: () => Date;
}

/**
 * Records of a user who has not logged in yet: sealed into cookies of their own browser, one for each, so that a visitor who never
 * logs in leaves nothing behind. At most five and 6 KiB of them are kept, the oldest go first.
 */
export class BrowserRecords {
  readonly #options: BrowserRecordsOptions;

  constructor(options: BrowserRecordsOptions) {
    this.#options = options;
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    const value = this.#kept(requestScope().ctx).get(this.#name(id));
    const text = value && (await this.#options.seal.open(value.slice(value.indexOf('~') + 1)));
    if (!text) return undefined;
    const payload = sealedPayload.parse(JSON.parse(text));
    return payload.jti === id ? payload : undefined;
  }

  /** @throws InvalidRequest if it is longer than a cookie can be */
  save(id: string, payload: AdapterPayload, ttlSeconds: number): void {
    const { ctx } = requestScope();
    const made = Math.floor(this.#options.now().getTime() / 1000).toString(36);
    const value = `${made}~${this.#options.seal.seal(JSON.stringify(payload))}`;
    if (value.length > maxValueBytes) throw new errors.InvalidRequest('the request is too long');
    const name = this.#name(id);
    this.#dropOldest(ctx, name, value.length);
    this.#set(ctx, name, value, ttlSeconds);
  }

  remove(id: string): void {
    const { ctx } = requestScope();
    const name = this.#name(id);
    if (this.#kept(ctx).has(name)) this.#set(ctx, name, null, 0);
  }

  #name(id: string): string {
    return `${this.#options.prefix}${hash('sha256', id).slice(0, 16)}`;
  }

  #set(ctx: Context, name: string, value: string | null, ttlSeconds: number): void {
    const { path } = this.#options;
    ctx.cookies.set(name, value, { path, httpOnly: true, sameSite: 'lax', signed: false, overwrite: true, maxAge: ttlSeconds * 1000 });
  }

  /** Those that the browser has sent. */
  #kept(ctx: Context): Map<string, string> {
    const pairs = ctx
      .get('Cookie')
      .split(/; */)
      .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)] as const);
    return new Map(pairs.filter(([name]) => name.startsWith(this.#options.prefix)));
  }

  #dropOldest(ctx: Context, name: string, bytes: number): void {
    const madeAt = (value: string) => Number.parseInt(value, 36);
    const others = [...this.#kept(ctx)].filter(([other]) => other !== name).sort(([, a], [, b]) => madeAt(b) - madeAt(a));
    let total = bytes;
    for (const [index, [other, value]] of others.entries()) {
      total += value.length;
      if (index + 1 >= maxKept || total > maxKeptBytes) this.#set(ctx, other, null, 0);
    }
  }
}

import { hash } from 'node:crypto';
import type { AdapterPayload } from 'oidc-provider';
import { z } from 'zod';
import { isRecord } from '../api/reader.ts';
import type { CookieFamily } from '../cookies/cookies.ts';
import type { Seal } from '../keys/seal.ts';
import { errors } from './oidc-provider.ts';
import { requestScope } from './request-scope.ts';

/** A browser accepts 4096 bytes, name and attributes included (RFC 6265, 6.1). */
const maxValueBytes = 3800;

const sealedPayload = z.custom<AdapterPayload>(isRecord);

interface BrowserRecordsOptions {
  seal: Seal;
  cookies: CookieFamily;
}

/** Stores records of a pending login in sealed cookies of the browser: an abandoned login leaves nothing in the cluster. */
export class BrowserRecords {
  readonly #options: BrowserRecordsOptions;

  constructor(options: BrowserRecordsOptions) {
    this.#options = options;
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    const { cookies, seal } = this.#options;
    const value = cookies.find(requestScope().ctx, memberOf(id));
    const text = value && (await seal.open(value));
    if (!text) return undefined;
    const payload = sealedPayload.parse(JSON.parse(text));
    return payload.jti === id ? payload : undefined;
  }

  /** @throws InvalidRequest if the record is too long for a cookie */
  save(id: string, payload: AdapterPayload, ttlSeconds: number): void {
    const { cookies, seal } = this.#options;
    const value = seal.seal(JSON.stringify(payload));
    if (value.length > maxValueBytes) throw new errors.InvalidRequest('the request is too long');
    cookies.set(requestScope().ctx, memberOf(id), value, ttlSeconds);
  }

  remove(id: string): void {
    this.#options.cookies.expire(requestScope().ctx, memberOf(id));
  }
}

const memberOf = (id: string) => hash('sha256', id).slice(0, 16);

import { hash, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { atMost } from '../http/bound.ts';
import type { Seal } from '../keys/seal.ts';

/** What callers present: the id of such a record is the code or token itself. */
export const handedOut = ['AuthorizationCode', 'AccessToken', 'RefreshToken', 'DeviceCode'] as const;
export type HandedOut = (typeof handedOut)[number];

const maxEnded = 10_000;
/** The keys of another replica may be unknown here for a moment: what could not be read then is not ended for ever. */
const endedMs = 60_000;

/** Ids that only a replica can make: a made-up one is known without asking the API server. */
export class RecordIds {
  readonly #seal: Seal;
  readonly #ended = new LRUCache<string, true>({ ...atMost(maxEnded), ttl: endedMs });

  constructor(seal: Seal) {
    this.#seal = seal;
  }

  /** @throws StatusError 503 while there is no key */
  make(model: HandedOut): string {
    return this.#seal.seal(`${model} ${randomBytes(16).toString('base64url')}`);
  }

  /** Whether a replica made it for that model. @throws StatusError 503 */
  async isOurs(model: HandedOut, id: string): Promise<boolean> {
    return (await this.#seal.open(id))?.startsWith(`${model} `) ?? false;
  }

  /** Whether its record is known to be gone. */
  isGone(id: string): boolean {
    return this.#ended.has(hash('sha256', id));
  }

  /** It is never made again: asking for it again costs nothing. */
  hasEnded(id: string): void {
    this.#ended.set(hash('sha256', id), true);
  }
}

import { hash, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { atMost } from '../http/bound.ts';
import type { Seal } from '../keys/seal.ts';

/** What callers present: the id of such a record is the code or token itself. */
export const handedOut = ['AuthorizationCode', 'RefreshToken', 'DeviceCode'] as const;
export type HandedOut = (typeof handedOut)[number];

const maxEnded = 10_000;
/** The keys of another replica may be unknown here for a moment: what could not be read then is not ended for ever. */
const endedMs = 60_000;

/** The facts about a record that its id carries, readable after the record is deleted. */
interface IssuedID {
  model: HandedOut;
  /** SHA-256 of the grant that the record belongs to; '' if that was not known yet. */
  grant: string;
  /** Unix seconds. */
  exp: number;
}

/** Ids that only a replica can make: a made-up one is known without asking the API server. */
export class RecordIds {
  readonly #seal: Seal;
  readonly #ended = new LRUCache<string, true>({ ...atMost(maxEnded), ttl: endedMs });

  constructor(seal: Seal) {
    this.#seal = seal;
  }

  /** @throws StatusError 503 while there is no key */
  make({ model, grant, exp }: IssuedID): string {
    return this.#seal.seal([model, randomBytes(16).toString('base64url'), exp, grant].join(' '));
  }

  /** Undefined for an id that no replica made for that model. @throws StatusError 503 */
  async read(model: HandedOut, id: string): Promise<IssuedID | undefined> {
    const [made, , exp, grant = ''] = (await this.#seal.open(id))?.split(' ') ?? [];
    return made === model ? { model, grant, exp: Number(exp) } : undefined;
  }

  /** Returns whether the record is known to be deleted. */
  isGone(id: string): boolean {
    return this.#ended.has(hash('sha256', id));
  }

  /** It is never made again: asking for it again costs nothing. */
  hasEnded(id: string): void {
    this.#ended.set(hash('sha256', id), true);
  }
}

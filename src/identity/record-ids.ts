import { hash, randomBytes } from 'node:crypto';
import { atMost } from '@atrium/http/limits/bounded-cache.ts';
import type { Seal } from '@atrium/http/seal.ts';
import { LRUCache } from 'lru-cache';

/** Models that callers present: the id of such a record is the code or token itself. */
export const presentedModels = ['AuthorizationCode', 'RefreshToken', 'DeviceCode'] as const;
export type PresentedModel = (typeof presentedModels)[number];

const maxEnded = 10_000;
/** Limits how long a record is remembered as ended, because it may be unreadable until this replica knows the keys of another. */
const endedMs = 60_000;

/** Content of an id, readable after the record is deleted. */
interface IssuedID {
  model: PresentedModel;
  /** SHA-256 of the grant that the record belongs to; '' if the grant was not known yet. */
  grant: string;
  /** Unix seconds. */
  exp: number;
}

/** Creates and reads ids that only replicas can create: an invented id is recognized without a call to the API server. */
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

  /** Reads an id; undefined if no replica created it for the model. @throws StatusError 503 */
  async read(model: PresentedModel, id: string): Promise<IssuedID | undefined> {
    const [made, , exp, grant = ''] = (await this.#seal.open(id))?.split(' ') ?? [];
    return made === model ? { model, grant, exp: Number(exp) } : undefined;
  }

  /** Returns whether the record is known to be deleted. */
  isGone(id: string): boolean {
    return this.#ended.has(hash('sha256', id));
  }

  /** Remembers that a record has ended: ids are not reused, so further requests need no call. */
  hasEnded(id: string): void {
    this.#ended.set(hash('sha256', id), true);
  }
}

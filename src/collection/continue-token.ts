import { z } from 'zod';
import { badParameter, expired } from '../api/status.ts';
import type { Seal } from '../keys/seal.ts';
import type { Position } from './sort.ts';

const lifetimeSeconds = 3600;

const position = z.tuple([z.string(), z.number(), z.string(), z.array(z.union([z.string(), z.number(), z.null()]))]);

const refused = (message: string) => badParameter('continue', message);

/**
 * Says where a list goes on: behind the last row of a page, by that row's place in the order and not by a count, so that nothing
 * shows twice when objects come and go meanwhile. Sealed, since it holds values of that object and since clients must not make one up.
 */
export class ContinueTokens {
  readonly #seal: Seal;
  readonly #now: () => Date;

  constructor({ seal, now }: { seal: Seal; now: () => Date }) {
    this.#seal = seal;
    this.#now = now;
  }

  /** @throws StatusError 503 while there is no key */
  issue({ values, name }: Position, fingerprint: string): string {
    const seconds = Math.floor(this.#now().getTime() / 1000);
    return this.#seal.seal(JSON.stringify([fingerprint, seconds, name, values.map((value) => value ?? null)]));
  }

  /** @throws StatusError 400 for a token that is not ours or was made for another query, 410 for one that is too old */
  async read(token: string, fingerprint: string): Promise<Position> {
    const text = await this.#seal.open(token);
    if (text === undefined) throw refused('is not a token of this service');
    const [madeFor, issuedAt, name, values] = position.parse(JSON.parse(text));
    if (this.#now().getTime() / 1000 - issuedAt > lifetimeSeconds) throw expired('continue is older than an hour; start again without it');
    if (madeFor !== fingerprint) throw refused('was made for other selectors, filters or another order');
    return { values: values.map((value) => value ?? undefined), name };
  }
}

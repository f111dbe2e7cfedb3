import { z } from 'zod';
import { badParameter, expired } from '../api/status.ts';
import type { Seal } from '../keys/seal.ts';
import type { Position } from './sort.ts';

const lifetimeSeconds = 3600;

const position = z.tuple([z.string(), z.number(), z.string(), z.array(z.union([z.string(), z.number(), z.null()]))]);

const refused = (message: string) => badParameter('continue', message);

/**
 * Issues and reads continue tokens. A token holds the position of the last row of a page in the order, and no count, so that no row is
 * shown twice if objects are added or deleted in between. Tokens are sealed, because they hold values of an object, and clients must not
 * forge them.
 */
export class ContinueTokens {
  readonly #seal: Seal;
  readonly #now: () => Date;

  constructor({ seal, now }: { seal: Seal; now: () => Date }) {
    this.#seal = seal;
    this.#now = now;
  }

  /** Issues a token for the rows after a position. @throws StatusError 503 while there is no key */
  issue({ values, name }: Position, fingerprint: string): string {
    const seconds = Math.floor(this.#now().getTime() / 1000);
    return this.#seal.seal(JSON.stringify([fingerprint, seconds, name, values.map((value) => value ?? null)]));
  }

  /**
   * Returns the position of a token.
   *
   * @throws StatusError 400 for a forged token or one that was issued for another query, 410 for an expired one
   */
  async read(token: string, fingerprint: string): Promise<Position> {
    const text = await this.#seal.open(token);
    if (text === undefined) throw refused('is not a token of this service');
    const [madeFor, issuedAt, name, values] = position.parse(JSON.parse(text));
    if (this.#now().getTime() / 1000 - issuedAt > lifetimeSeconds) throw expired('continue is older than an hour; start again without it');
    if (madeFor !== fingerprint) throw refused('was made for other selectors, filters or another order');
    return { values: values.map((value) => value ?? undefined), name };
  }
}

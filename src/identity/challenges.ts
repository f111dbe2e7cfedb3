import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Challenge } from '../factors/passkeys.ts';
import type { Seal } from '../keys/seal.ts';

const challengeBytes = 32;
const lifetimeSeconds = 300;

const sealedChallenge = z.object({
  /** The visit that it was given to. */
  interaction: z.string(),
  /** Of the user who is asked; '' while that is not known. */
  uid: z.string(),
  text: z.string(),
  /** Unix seconds. */
  exp: z.number(),
});

/**
 * What a passkey has to sign. Nothing is kept of one until it was signed: it goes along in the form, sealed for this visit and user, and
 * without the cookie of the visit no form is taken.
 */
export class Challenges {
  readonly #seal: Seal;
  readonly #now: () => Date;

  constructor(seal: Seal, now: () => Date) {
    this.#seal = seal;
    this.#now = now;
  }

  /** @throws StatusError 503 while there is no key */
  give(interaction: string, uid: string): { text: string; sealed: string } {
    const text = randomBytes(challengeBytes).toString('base64url');
    const exp = Math.floor(this.#now().getTime() / 1000) + lifetimeSeconds;
    return { text, sealed: this.#seal.seal(JSON.stringify({ interaction, uid, text, exp })) };
  }

  /** Undefined for what was given to another visit or user, or too long ago. @throws StatusError 503 while there is no key */
  async open(sealed: string, interaction: string, uid: string): Promise<Challenge | undefined> {
    const opened = await this.#seal.open(sealed);
    const data = opened === undefined ? undefined : sealedChallenge.safeParse(JSON.parse(opened)).data;
    const isCurrent = data?.interaction === interaction && data.uid === uid && this.#now().getTime() / 1000 < data.exp;
    return isCurrent ? { text: data.text, expiresAt: new Date(data.exp * 1000) } : undefined;
  }
}

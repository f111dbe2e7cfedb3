import { randomBytes } from 'node:crypto';
import type { Seal } from '@atrium/http/seal.ts';
import { z } from 'zod';
import type { Challenge } from '../factors/passkeys.ts';

const challengeBytes = 32;
const lifetimeSeconds = 300;

const sealedChallenge = z.object({
  /** Visit to which the challenge was issued. */
  interaction: z.string(),
  /** UID of the user who must sign; '' if the user is not known yet. */
  uid: z.string(),
  text: z.string(),
  /** Unix seconds. */
  exp: z.number(),
});

/**
 * Issues and opens the challenges that passkeys sign. The service stores nothing until a challenge is signed: the form carries it, sealed
 * for its visit and user, and a login form is refused without the cookie of the visit.
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

  /** Opens a challenge; undefined for another visit or user, or after expiry. @throws StatusError 503 while there is no key */
  async open(sealed: string, interaction: string, uid: string): Promise<Challenge | undefined> {
    const opened = await this.#seal.open(sealed);
    const data = opened === undefined ? undefined : sealedChallenge.safeParse(JSON.parse(opened)).data;
    const isCurrent = data?.interaction === interaction && data.uid === uid && this.#now().getTime() / 1000 < data.exp;
    return isCurrent ? { text: data.text, expiresAt: new Date(data.exp * 1000) } : undefined;
  }
}

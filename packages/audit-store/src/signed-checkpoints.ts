/** Checkpoints as JSON Web Signatures, so that nobody without the key can make one. */
import { CompactSign, compactVerify, importJWK, type JWK } from 'jose';
import * as z from 'zod/mini';
import type { Checkpoint } from './chain.ts';

const type = 'audit-checkpoint';
const alg = 'ES256';

const payload = z.object({
  sequence: z.int(),
  hash: z.string(),
  time: z.string(),
  count: z.int(),
  removed: z.optional(z.object({ sequence: z.int(), hash: z.string() })),
});

/** Signs a checkpoint with a private key that has an id. */
export async function signedCheckpoint(checkpoint: Checkpoint, key: JWK): Promise<string> {
  const content = new TextEncoder().encode(JSON.stringify(checkpoint));
  return new CompactSign(content).setProtectedHeader({ alg, typ: type, kid: key.kid ?? '' }).sign(await importJWK(key, alg));
}

/** Returns the checkpoint of a text; undefined unless one of the keys signed it. */
export async function verifiedCheckpoint(text: string, keys: readonly JWK[]): Promise<Checkpoint | undefined> {
  try {
    const verified = await compactVerify(
      text,
      async ({ kid }) => {
        const { kty, crv, x, y } = keys.find((candidate) => candidate.kid === kid) ?? {};
        // A private key verifies nothing.
        return await importJWK({ kty, crv, x, y } as JWK, alg);
      },
      { algorithms: [alg] },
    );
    if (verified.protectedHeader.typ !== type) return undefined;
    return payload.parse(JSON.parse(new TextDecoder().decode(verified.payload)));
  } catch {
    return undefined;
  }
}

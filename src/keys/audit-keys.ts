import { createHash } from 'node:crypto';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import { z } from 'zod';

const coordinate = z.string().regex(/^[A-Za-z0-9_-]{43}$/);

/** RFC 7517 section 5 and RFC 7518 section 6.2: private keys of P-256. */
const jwkSet = z.object({
  keys: z.array(z.object({ kty: z.literal('EC'), crv: z.literal('P-256'), x: coordinate, y: coordinate, d: coordinate })).min(1),
});

/** Private keys with their thumbprints as ids. The first one signs; all verify. */
export type AuditKeys = readonly [JWK, ...JWK[]];

export async function createAuditKeys(): Promise<JWK[]> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  return [await exportJWK(privateKey)];
}

/** @throws SyntaxError, ZodError */
export function parseAuditKeys(text: string): AuditKeys {
  const [first, ...others] = jwkSet.parse(JSON.parse(text)).keys.map((key) => ({ ...key, kid: thumbprintOf(key) }));
  if (first === undefined) throw new SyntaxError('no key');
  return [first, ...others];
}

/** RFC 7638, section 3: the id identifies the key itself. */
const thumbprintOf = ({ crv, kty, x, y }: { crv: string; kty: string; x: string; y: string }): string =>
  createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url');

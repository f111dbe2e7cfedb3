import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose';
import { z } from 'zod';

const base64url = z.string().regex(/^[A-Za-z0-9_-]+$/);
const shared = { kid: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/), use: z.literal('sig'), d: base64url };

/** RFC 7517 section 5 and RFC 7518 sections 6.2 and 6.3: private keys, at least one for each algorithm. */
const jwkSet = z.object({
  keys: z
    .array(
      z.discriminatedUnion('kty', [
        z.object({
          ...shared,
          kty: z.literal('RSA'),
          alg: z.literal('RS256'),
          n: base64url,
          e: base64url,
          p: base64url,
          q: base64url,
          dp: base64url,
          dq: base64url,
          qi: base64url,
        }),
        z.object({ ...shared, kty: z.literal('EC'), alg: z.literal('ES256'), crv: z.literal('P-256'), x: base64url, y: base64url }),
      ]),
    )
    .refine((keys) => ['RSA', 'EC'].every((kty) => keys.some((key) => key.kty === kty)), 'needs an RS256 and an ES256 key'),
});

/** Private keys. The first key of each algorithm signs; the keys behind it verify earlier signatures. */
export type SigningKeys = readonly JWK[];

/** Creates an RSA key of 2048 bits and a P-256 key outside the event loop. */
export async function createSigningKeys(): Promise<SigningKeys> {
  return Promise.all(
    ['RS256', 'ES256'].map(async (alg) => {
      const { privateKey } = await generateKeyPair(alg, { modulusLength: 2048, extractable: true });
      const jwk = await exportJWK(privateKey);
      return { ...jwk, alg, use: 'sig', kid: await calculateJwkThumbprint(jwk) };
    }),
  );
}

/** @throws SyntaxError, ZodError */
export const parseSigningKeys = (text: string): SigningKeys => jwkSet.parse(JSON.parse(text)).keys;

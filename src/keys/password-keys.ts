import { exportJWK, generateKeyPair, type JWK } from 'jose';
import { z } from 'zod';

const base64url = z.string().regex(/^[A-Za-z0-9_-]+$/);

/** RFC 7517 section 5 and RFC 7518 section 6.3: RSA private keys of 2048 bits. */
const jwkSet = z.object({
  keys: z
    .array(
      z.object({
        kty: z.literal('RSA'),
        n: z.string().regex(/^[A-Za-z0-9_-]{342}$/),
        e: base64url,
        d: base64url,
        p: base64url,
        q: base64url,
        dp: base64url,
        dq: base64url,
        qi: base64url,
      }),
    )
    .min(1),
});

/** Private keys. The public half of the first one is published; the keys behind it still decrypt. */
export type PasswordKeys = readonly JWK[];

/** Creates an RSA key of 2048 bits outside the event loop. */
export async function createPasswordKeys(): Promise<PasswordKeys> {
  const { privateKey } = await generateKeyPair('RSA-OAEP-256', { modulusLength: 2048, extractable: true });
  return [await exportJWK(privateKey)];
}

/** @throws SyntaxError, ZodError */
export const parsePasswordKeys = (text: string): PasswordKeys => jwkSet.parse(JSON.parse(text)).keys;

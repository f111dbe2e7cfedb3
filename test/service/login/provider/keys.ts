import { createHmac, createPublicKey, generateKeyPair, type JsonWebKey, type KeyObject, sign } from 'node:crypto';
import { promisify } from 'node:util';

export type Algorithm = 'RS256' | 'ES256';

/** A key pair of the provider, and the public half as it is published (RFC 7517). */
export interface SigningKey {
  alg: Algorithm;
  kid: string;
  privateKey: KeyObject;
  jwk: JsonWebKey;
}

const generate = promisify(generateKeyPair);
let made = 0;

/** Under a key id that no other key of this process has. */
export async function createSigningKey(alg: Algorithm): Promise<SigningKey> {
  const { privateKey } = alg === 'RS256' ? await generate('rsa', { modulusLength: 2048 }) : await generate('ec', { namedCurve: 'P-256' });
  made += 1;
  const kid = `key-${made}`;
  return { alg, kid, privateKey, jwk: { ...createPublicKey(privateKey).export({ format: 'jwk' }), kid, alg, use: 'sig' } };
}

/** Signs what stands before the last dot of a compact JWS (RFC 7515 7.1). */
export function signatureOf(input: string, { alg, privateKey }: SigningKey): string {
  return sign('sha256', Buffer.from(input), alg === 'ES256' ? { key: privateKey, dsaEncoding: 'ieee-p1363' } : privateKey).toString(
    'base64url',
  );
}

/** The symmetric signature that a verifier falls for if it lets the token name the algorithm. */
export const hmacOf = (input: string, secret: string): string => createHmac('sha256', secret).update(input).digest('base64url');

/** PEM. */
export const publicText = ({ privateKey }: SigningKey): string =>
  createPublicKey(privateKey).export({ format: 'pem', type: 'spki' }).toString();

import { createHmac, createPublicKey, generateKeyPair, type JsonWebKey, type KeyObject, sign } from 'node:crypto';
import { promisify } from 'node:util';
import { keptRSAKey } from '../../../support/kept-keys.ts';

export type Algorithm = 'RS256' | 'ES256';

/** A key pair of the provider, and its published public key (RFC 7517). */
export interface SigningKey {
  alg: Algorithm;
  kid: string;
  privateKey: KeyObject;
  jwk: JsonWebKey;
}

const generate = promisify(generateKeyPair);
let made = 0;

/** Creates a key with a key id that is unique in the process. */
export async function createSigningKey(alg: Algorithm): Promise<SigningKey> {
  made += 1;
  const kid = `key-${made}`;
  const privateKey = alg === 'RS256' ? await keptRSAKey() : (await generate('ec', { namedCurve: 'P-256' })).privateKey;
  return { alg, kid, privateKey, jwk: { ...createPublicKey(privateKey).export({ format: 'jwk' }), kid, alg, use: 'sig' } };
}

/** Signs the part of a compact JWS before its last dot (RFC 7515 7.1). */
export function signatureOf(input: string, { alg, privateKey }: SigningKey): string {
  return sign('sha256', Buffer.from(input), alg === 'ES256' ? { key: privateKey, dsaEncoding: 'ieee-p1363' } : privateKey).toString(
    'base64url',
  );
}

/** Returns the symmetric signature that deceives a verifier which lets the token choose the algorithm. */
export const hmacOf = (input: string, secret: string): string => createHmac('sha256', secret).update(input).digest('base64url');

/** Returns the public key as PEM. */
export const publicText = ({ privateKey }: SigningKey): string =>
  createPublicKey(privateKey).export({ format: 'pem', type: 'spki' }).toString();

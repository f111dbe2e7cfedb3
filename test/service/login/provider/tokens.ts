import { hash } from 'node:crypto';
import { hmacOf, publicText, type SigningKey, signatureOf } from './keys.ts';

export type Claims = Record<string, unknown>;

/** Differences between a token and the correct one. */
export interface TokenChange {
  /** Merged into the header; undefined removes a member. */
  header?: Claims;
  /** Merged into the claims; undefined removes a claim. */
  claims?: Claims;
  /** Rewrites the JSON of the claims, such as for a duplicate member. */
  text?: (json: string) => string;
  /** Key that signs the token; the header names its algorithm unless it is changed too. Default: the provider's key. */
  signer?: 'client secret' | 'public key' | 'unpublished RS256' | 'unpublished ES256' | 'published ES256' | 'nobody';
  /** Rewrites the finished token. */
  spoil?: (token: string) => string;
}

export interface Signers {
  current: SigningKey;
  unpublishedRSA: SigningKey;
  unpublishedEC: SigningKey;
  /** Latest ES256 key that the provider has published. */
  publishedEC?: SigningKey;
  clientSecret: string;
}

const encode = (text: string) => Buffer.from(text).toString('base64url');

/** Returns a compact JWS with these claims and changes. */
export function createToken(claims: Claims, signers: Signers, changes: readonly TokenChange[], typ = 'JWT'): string {
  const change = changes.reduce(overlay, {});
  const { alg, kid, sign } = signerOf(change.signer, signers);
  const header = { ...{ alg, kid, typ }, ...change.header };
  const json = JSON.stringify({ ...claims, ...change.claims });
  const input = `${encode(JSON.stringify(header))}.${encode(change.text?.(json) ?? json)}`;
  const token = `${input}.${sign(input)}`;
  return change.spoil?.(token) ?? token;
}

const overlay = (below: TokenChange, above: TokenChange): TokenChange => ({
  ...below,
  ...above,
  header: { ...below.header, ...above.header },
  claims: { ...below.claims, ...above.claims },
});

function signerOf(
  signer: TokenChange['signer'],
  { current, unpublishedRSA, unpublishedEC, publishedEC = unpublishedEC, clientSecret }: Signers,
) {
  const by = (key: SigningKey) => ({ alg: key.alg, kid: key.kid, sign: (input: string) => signatureOf(input, key) });
  switch (signer) {
    case 'client secret':
      return { alg: 'HS256', kid: undefined, sign: (input: string) => hmacOf(input, clientSecret) };
    case 'public key':
      return { alg: 'HS256', kid: current.kid, sign: (input: string) => hmacOf(input, publicText(current)) };
    case 'unpublished RS256':
      return by(unpublishedRSA);
    case 'unpublished ES256':
      return by(unpublishedEC);
    case 'published ES256':
      return by(publishedEC);
    case 'nobody':
      return { alg: 'none', kid: undefined, sign: () => '' };
    default:
      return by(current);
  }
}

/** Changes one bit in the middle of the signature. */
export function flipSignature(token: string): string {
  const [header, payload, signature = ''] = token.split('.');
  const bytes = Buffer.from(signature, 'base64url');
  const middle = bytes.length >> 1;
  bytes.writeUInt8(bytes.readUInt8(middle) ^ 1, middle);
  return [header, payload, bytes.toString('base64url')].join('.');
}

export const dropSignature = (token: string): string => token.replace(/[^.]*$/, '');

/** Keeps the signature over other claims. */
export function changePayload(token: string, claims: Claims): string {
  const [header, payload = '', signature] = token.split('.');
  return [header, encode(JSON.stringify({ ...decode(payload), ...claims })), signature].join('.');
}

const decode = (part: string): Claims => JSON.parse(Buffer.from(part, 'base64url').toString());

/** `c_hash` and `at_hash` of a SHA-256 algorithm (OpenID Connect Core 3.3.2.11). */
export const halfHash = (value: string): string => hash('sha256', value, 'buffer').subarray(0, 16).toString('base64url');

/**
 * The text of an access token: `cat_<id>_<secret><checksum>`.
 * - id: 16 characters of `a`-`z`, `2`-`7`, the name of the AccessToken object;
 * - secret: 256 random bits as 43 characters of `0`-`9`, `A`-`Z`, `a`-`z`;
 * - checksum: the CRC-32 (ISO-HDLC, as in zip) of all characters before it, as 6 such characters, most significant first. Secret scanners
 *   use it to distinguish tokens from similar texts, without a call.
 *
 * No character is a word boundary, so a double click selects the whole token.
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { canonicalScope, type GivenScope } from './scope.ts';

const idDigits = 'abcdefghijklmnopqrstuvwxyz234567';
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const secretLength = 43;
const checksumLength = 6;

const tokenPattern = /^cat_([a-z2-7]{16})_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/;

interface NewToken {
  id: string;
  text: string;
  /** Hash of the secret, which is stored in its place. */
  tokenHash: string;
}

/** Generates a token. */
export function newToken(scope: GivenScope | undefined): NewToken {
  const id = Array.from(randomBytes(16), (byte) => idDigits[byte % idDigits.length]).join('');
  const secret = inDigits(BigInt(`0x${randomBytes(32).toString('hex')}`), secretLength);
  const signed = `cat_${id}_${secret}`;
  return { id, text: `${signed}${checksumOf(signed)}`, tokenHash: hashOf(signedText(secret, scope)) };
}

/** @returns undefined for a text that cannot be a token, such as a mistyped token */
export function readToken(text: string): { id: string; secret: string } | undefined {
  const [, id, secret, checksum] = tokenPattern.exec(text) ?? [];
  if (id === undefined || secret === undefined || checksum !== checksumOf(`cat_${id}_${secret}`)) return undefined;
  return { id, secret };
}

/**
 * Returns the text whose hash is stored: the secret, with the scope of a token that has one. A scope that is changed or removed, by a build
 * that does not know scopes too, makes the token invalid.
 */
export const signedText = (secret: string, scope: GivenScope | undefined): string =>
  scope === undefined ? secret : `${secret} ${JSON.stringify(canonicalScope(scope))}`;

/** Reports whether the hash is that of the text, in constant time. */
export const isHashOf = (tokenHash: string, signed: string): boolean => {
  const given = Buffer.from(hashOf(signed));
  const kept = Buffer.from(tokenHash);
  return given.length === kept.length && timingSafeEqual(given, kept);
};

/** Returns the SHA-256 in hexadecimal: a secret of 256 random bits needs no slow hash. */
const hashOf = (signed: string): string => hash('sha256', signed);

const checksumOf = (text: string): string => inDigits(BigInt(crc32(text)), checksumLength);

function inDigits(value: bigint, length: number): string {
  let text = '';
  for (let rest = value; text.length < length; rest /= 62n) text = `${digits[Number(rest % 62n)]}${text}`;
  return text;
}

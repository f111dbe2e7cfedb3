/** Recovery codes for users who have lost their phone: ten codes of 80 random bits, each valid for one login. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { typedCode } from '@atrium/objects/typed-text.ts';
import { Secret } from 'otpauth';
import { z } from 'zod';

export const recoveryCodeCount = 10;
const codeBytes = 10;

/** Stored form of the codes. The key is random, so the same code has a different HMAC for each user. */
export const keptCodes = z.object({ key: z.base64url(), macs: z.array(z.base64url()) });
export type KeptCodes = z.output<typeof keptCodes>;

/** Normalizes a typed code: ignores case, width and any separators between the groups. */
const plain = (code: string): string => typedCode(code).replace(/[^A-Z2-7]/g, '');

const macOf = (key: string, code: string): string =>
  createHmac('sha256', Buffer.from(key, 'base64url')).update(plain(code)).digest('base64url');

/** @returns the codes, in groups of four characters, and their stored form */
export function newRecoveryCodes(): { codes: string[]; kept: KeptCodes } {
  const key = randomBytes(32).toString('base64url');
  const codes = Array.from({ length: recoveryCodeCount }, () => {
    const { base32 } = new Secret({ buffer: new Uint8Array(randomBytes(codeBytes)).buffer });
    return (base32.match(/.{4}/g) ?? []).join('-');
  });
  return { codes, kept: { key, macs: codes.map((code) => macOf(key, code)) } };
}

/** Reports whether the text has the form of a recovery code, unlike a code of an app. */
export const isRecoveryCode = (text: string): boolean => plain(text).length === 16;

/** Returns the index of the code; undefined if no code matches. */
export function indexOfCode({ key, macs }: KeptCodes, code: string): number | undefined {
  const given = Buffer.from(macOf(key, code));
  const index = macs.findIndex((mac) => mac.length === given.length && timingSafeEqual(Buffer.from(mac), given));
  return index === -1 ? undefined : index;
}

/** Codes on paper, for a person whose phone is lost: ten of 80 random bits, each for one login. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { Secret } from 'otpauth';
import { z } from 'zod';

export const recoveryCodeCount = 10;
const codeBytes = 10;

/** What is kept of them: the key is random, so that the same code has another HMAC for each user. */
export const keptCodes = z.object({ key: z.base64url(), macs: z.array(z.base64url()) });
export type KeptCodes = z.output<typeof keptCodes>;

/** As people type them: in any case, with whatever stands between the groups. */
const plain = (code: string): string => code.toUpperCase().replace(/[^A-Z2-7]/g, '');

const macOf = (key: string, code: string): string =>
  createHmac('sha256', Buffer.from(key, 'base64url')).update(plain(code)).digest('base64url');

/** @returns the codes, in groups of four signs, and what is kept of them */
export function newRecoveryCodes(): { codes: string[]; kept: KeptCodes } {
  const key = randomBytes(32).toString('base64url');
  const codes = Array.from({ length: recoveryCodeCount }, () => {
    const { base32 } = new Secret({ buffer: new Uint8Array(randomBytes(codeBytes)).buffer });
    return (base32.match(/.{4}/g) ?? []).join('-');
  });
  return { codes, kept: { key, macs: codes.map((code) => macOf(key, code)) } };
}

/** Whether that may be one, and no code of an app. */
export const isRecoveryCode = (text: string): boolean => plain(text).length === 16;

/** Which of the codes it is; undefined if it is none of them. */
export function indexOfCode({ key, macs }: KeptCodes, code: string): number | undefined {
  const given = Buffer.from(macOf(key, code));
  const index = macs.findIndex((mac) => mac.length === given.length && timingSafeEqual(Buffer.from(mac), given));
  return index === -1 ? undefined : index;
}

/** Codes of an app (RFC 6238): SHA-1, 6 digits, 30 seconds, which is what all of them know. */
import { Secret, TOTP } from 'otpauth';

const periodSeconds = 30;
const secretBytes = 20;
/** Clocks of phones: one step before and after. */
const window = 1;

const settings = { algorithm: 'SHA1', digits: 6, period: periodSeconds } as const;

/** base32 */
export const newTOTPSecret = (): string => new Secret({ size: secretBytes }).base32;

/** What an app reads from the picture. */
export const totpURL = (secret: string, { issuer, label }: { issuer: string; label: string }): string =>
  new TOTP({ ...settings, issuer, label, secret: Secret.fromBase32(secret) }).toString();

/** The step that a code belongs to; undefined if it is none of the present ones. */
export function stepOf(secret: string, code: string, now: Date): number | undefined {
  const timestamp = now.getTime();
  const delta = TOTP.validate({ ...settings, token: code, secret: Secret.fromBase32(secret), timestamp, window });
  return delta === null ? undefined : Math.floor(timestamp / 1000 / periodSeconds) + delta;
}

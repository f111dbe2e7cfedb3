/** Codes of an app (RFC 6238) with SHA-1, 6 digits and 30 seconds, which all apps support. */
import { typedCode } from '@atrium/objects/typed-text.ts';
import { Secret, TOTP } from 'otpauth';

const periodSeconds = 30;
const secretBytes = 20;
/** Tolerates the clock skew of phones: one step before and after. */
const window = 1;

const settings = { algorithm: 'SHA1', digits: 6, period: periodSeconds } as const;

/** Returns a secret in base32. */
export const newTOTPSecret = (): string => new Secret({ size: secretBytes }).base32;

/** Returns the URL that an app reads from the QR code. */
export const totpURL = (secret: string, { issuer, label }: { issuer: string; label: string }): string =>
  new TOTP({ ...settings, issuer, label, secret: Secret.fromBase32(secret) }).toString();

/** Returns the time step of a code; undefined if the code is not valid now. */
export function stepOf(secret: string, code: string, now: Date): number | undefined {
  const timestamp = now.getTime();
  const delta = TOTP.validate({ ...settings, token: typedCode(code), secret: Secret.fromBase32(secret), timestamp, window });
  return delta === null ? undefined : Math.floor(timestamp / 1000 / periodSeconds) + delta;
}

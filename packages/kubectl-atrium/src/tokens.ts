import { decodeJwt } from 'jose';
import * as z from 'zod/mini';

/** Tokens of an issuer that are stored. */
export const tokensSchema = z.object({
  idToken: z.string(),
  refreshToken: z.optional(z.string()),
  /** Unix seconds, of a token that does not tell its end itself. */
  expiresAt: z.optional(z.number()),
});
export type Tokens = z.infer<typeof tokensSchema>;

/** End of the year 9999. Tokens without an end have one beyond what a `Date` holds. */
const lastSecond = 253_402_300_799;

/** An odd value counts as missing: it is only shown. */
const name = () => z.catch(z.optional(z.string()), undefined);

const claimsSchema = z.object({
  sub: z.string(),
  exp: z.number(),
  email: name(),
  preferred_username: name(),
});

/** Returns the claims of an ID token that was verified when it was received. @throws Error for text that is no ID token */
export function claimsOf({ idToken, expiresAt }: Tokens): { subject: string; name: string; expiresAt: Date } {
  if (expiresAt !== undefined) return { subject: '', name: 'a machine user', expiresAt: new Date(Math.min(expiresAt, lastSecond) * 1000) };
  const { sub, exp, email, preferred_username: username } = claimsSchema.parse(decodeJwt(idToken));
  return { subject: sub, name: email || username || sub, expiresAt: new Date(Math.min(exp, lastSecond) * 1000) };
}

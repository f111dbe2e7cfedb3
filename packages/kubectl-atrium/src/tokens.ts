import { decodeJwt } from 'jose';
import * as z from 'zod/mini';

/** Tokens of an issuer that are stored. */
export const tokensSchema = z.object({ idToken: z.string(), refreshToken: z.optional(z.string()) });
export type Tokens = z.infer<typeof tokensSchema>;

const claimsSchema = z.object({
  sub: z.string(),
  exp: z.number(),
  email: z.optional(z.string()),
  preferred_username: z.optional(z.string()),
});

/** Returns the claims of an ID token that was verified when it was received. @throws Error for text that is no ID token */
export function claimsOf({ idToken }: Tokens): { subject: string; name: string; expiresAt: Date } {
  const { sub, exp, email, preferred_username: username } = claimsSchema.parse(decodeJwt(idToken));
  return { subject: sub, name: email ?? username ?? sub, expiresAt: new Date(exp * 1000) };
}

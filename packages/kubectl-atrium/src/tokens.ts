import { decodeJwt } from 'jose';
import * as z from 'zod/mini';

/** What an issuer gave, and is kept. */
export const tokensSchema = z.object({ idToken: z.string(), refreshToken: z.optional(z.string()) });
export type Tokens = z.infer<typeof tokensSchema>;

const claimsSchema = z.object({
  sub: z.string(),
  exp: z.number(),
  email: z.optional(z.string()),
  preferred_username: z.optional(z.string()),
});

/** Claims of an ID token that was verified when it came. @throws Error for what is none */
export function claimsOf({ idToken }: Tokens): { subject: string; name: string; expiresAt: Date } {
  const { sub, exp, email, preferred_username: username } = claimsSchema.parse(decodeJwt(idToken));
  return { subject: sub, name: email ?? username ?? sub, expiresAt: new Date(exp * 1000) };
}

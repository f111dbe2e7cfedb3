import { z } from 'zod';
import { type IssuerLogin, issuerLoginOf, issuerLoginSchema } from '../issuer/login.ts';
import type { VerifiedLogin } from '../issuer/verified-login.ts';
import { newSecret } from './cookie.ts';

/**
 * What this service has to know of a login for as long as its tokens are renewed: sealed in a Session, or in the refresh token that the
 * caller keeps. It never changes. Times are unix seconds.
 */
export interface LoginFacts {
  /** Random: names the login, and no other one of the same user or of the same session at the issuer. */
  readonly id: string;
  /** When it was, by our clock. Not `auth_time`, which is as old as the issuer's session. */
  readonly at: number;
  /** Its absolute end. */
  readonly expiresAt: number;
  /** Name of the User record, whether or not there is one. */
  readonly user: string;
  /** Left out if there is no record. */
  readonly userUID?: string;
  /** The user name that Kubernetes sees. */
  readonly subjectName: string;
  /** The user name by the claims alone. */
  readonly claimedName: string;
  readonly iss: string;
  readonly sub: string;
  /** `sid`, `sub` and `auth_time`, as hashes. */
  readonly issuerLogin: IssuerLogin;
}

export const loginFactsSchema = z.object({
  id: z.string(),
  at: z.number(),
  expiresAt: z.number(),
  user: z.string(),
  userUID: z.string().exactOptional(),
  subjectName: z.string(),
  claimedName: z.string(),
  iss: z.string(),
  sub: z.string(),
  issuerLogin: issuerLoginSchema,
});

/** The user of a login: the record and the name in Kubernetes. */
type LoginUser = Pick<LoginFacts, 'user' | 'subjectName'> & { userUID: string | undefined };

/** @param absoluteMs `login.session.absolute` */
export function newLogin(
  { claims, identity }: VerifiedLogin,
  { userUID, ...user }: LoginUser,
  { now, absoluteMs }: { now: Date; absoluteMs: number },
): LoginFacts {
  const { iss, sub } = claims;
  return {
    ...user,
    ...(userUID !== undefined && { userUID }),
    claimedName: identity.name,
    iss,
    sub,
    issuerLogin: issuerLoginOf(claims),
    ...begun(now, absoluteMs),
  };
}

/** The same person goes on with the same tokens, in a login of its own. */
export const successorOf = (login: LoginFacts, { now, absoluteMs }: { now: Date; absoluteMs: number }): LoginFacts => ({
  ...login,
  ...begun(now, absoluteMs),
});

function begun(now: Date, absoluteMs: number): Pick<LoginFacts, 'id' | 'at' | 'expiresAt'> {
  const at = Math.floor(now.getTime() / 1000);
  return { id: newSecret(), at, expiresAt: at + Math.floor(absoluteMs / 1000) };
}

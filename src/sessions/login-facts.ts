import { newSecret } from '@atrium/http/cookies/cookies.ts';
import { z } from 'zod';
import { type IssuerLogin, issuerLoginOf, issuerLoginSchema } from '../issuer/login.ts';
import type { VerifiedLogin } from '../issuer/verified-login.ts';

/**
 * Facts about a login that the service needs as long as its tokens are renewed: sealed in a Session, or in the refresh token of a caller
 * who stores tokens. They never change. Times are unix seconds.
 */
export interface LoginFacts {
  /** Random name of this login. Other logins of the same user or of the same session at the issuer have other names. */
  readonly id: string;
  /** Time of the login by the clock of this service. The claim `auth_time` is as old as the issuer's session. */
  readonly at: number;
  /** Absolute expiry. */
  readonly expiresAt: number;
  /** Name of the User record, even if it does not exist. */
  readonly user: string;
  /** Missing without a record. */
  readonly userUID?: string;
  /** User name in Kubernetes. */
  readonly subjectName: string;
  /** User name by the claims alone. */
  readonly claimedName: string;
  readonly iss: string;
  readonly sub: string;
  /** Hashes of `sid`, `sub` and `auth_time`. */
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
    ...newLoginFacts(now, absoluteMs),
  };
}

/** Returns a new login of the same user with the same tokens. */
export const successorOf = (login: LoginFacts, { now, absoluteMs }: { now: Date; absoluteMs: number }): LoginFacts => ({
  ...login,
  ...newLoginFacts(now, absoluteMs),
});

function newLoginFacts(now: Date, absoluteMs: number): Pick<LoginFacts, 'id' | 'at' | 'expiresAt'> {
  const at = Math.floor(now.getTime() / 1000);
  return { id: newSecret(), at, expiresAt: at + Math.floor(absoluteMs / 1000) };
}

/** Returns actor and target for the audit trail. */
export const auditSubjectOfLogin = ({ subjectName, sub, user, userUID = '' }: LoginFacts) => ({
  actor: { name: subjectName, uid: sub },
  target: { name: user, uid: userUID },
});

/** Ends the access of a user, a user name in Kubernetes, a login or bearer tokens. */
import { unending } from '../kubernetes/deadline.ts';
import type { KubernetesObject } from '../kubernetes/resource.ts';
import { nextSecond, timestamp } from '../kubernetes/timestamp.ts';
import type { Services } from '../services.ts';
import { type EndReason, type EndUserAccess, type SubjectAccess, type UserAccess, untilValid } from '../users/end-access.ts';
import { type UserReference, UserStatusWriter } from '../users/status.ts';
import type { EndedLogin, HandedOut, IssuerLogout, RevokedTokens, SessionBearers } from './revoked-tokens.ts';
import { revokeSubject } from './subject-revocation.ts';

/** Bearer token, or all bearer tokens of a session at the issuer. */
type BearerAccess = { readonly bearer: HandedOut; readonly owner: string } | { readonly sessionBearers: SessionBearers };

/** Login whose tokens the client keeps, or logins that the issuer has ended. */
type LoginAccess = { readonly login: EndedLogin } | { readonly issuerLogout: IssuerLogout };

export interface EndAccess extends EndUserAccess {
  /** Resolves when access has ended on this replica. Other replicas follow by their watch. @throws StatusError 503, 504 */
  (access: BearerAccess, reason: EndReason, signal: AbortSignal): Promise<void>;
  /** @returns false if the login was ended before, here or on another replica; @throws StatusError 503, 504 */
  (access: LoginAccess, reason: EndReason, signal: AbortSignal): Promise<boolean>;
}

interface EndAccessNeeds {
  /** Undefined without an issuer: the API server verifies all tokens, and the service does not follow revocations. */
  revokedTokens: RevokedTokens | undefined;
  /** Deletes the access tokens of a record. Undefined if access tokens are off. */
  deleteAccessTokens: ((owner: UserReference, signal: AbortSignal) => Promise<void>) | undefined;
}

export function createEndAccess(services: Services, needs: EndAccessNeeds): EndAccess {
  const { log } = services;
  const status = new UserStatusWriter(services);

  async function endAccess(access: UserAccess, reason: EndReason, signal?: AbortSignal): Promise<KubernetesObject>;
  async function endAccess(access: SubjectAccess | BearerAccess, reason: EndReason, signal: AbortSignal): Promise<void>;
  async function endAccess(access: LoginAccess, reason: EndReason, signal: AbortSignal): Promise<boolean>;
  async function endAccess(
    access: UserAccess | SubjectAccess | BearerAccess | LoginAccess,
    reason: EndReason,
    signal: AbortSignal = unending,
  ): Promise<unknown> {
    log.debug({ reason, access: Object.keys(access)[0] }, 'access ends');
    if ('user' in access) return endUser(services, status, needs, access, signal);
    if ('subject' in access) return endSubject(services, needs, access, signal);
    const revokedTokens = required(needs);
    if ('bearer' in access) return revokedTokens.addBearer(access.bearer, access.owner, signal);
    if ('sessionBearers' in access) return revokedTokens.addSessionBearers(access.sessionBearers, signal);
    return 'login' in access ? revokedTokens.addLogin(access.login, signal) : revokedTokens.addIssuerLogout(access.issuerLogout, signal);
  }
  return endAccess;
}

/** Deletes access tokens before it writes the status. After that write, a retry would no longer delete them. */
async function endUser(
  { now }: Services,
  status: UserStatusWriter,
  { deleteAccessTokens }: EndAccessNeeds,
  { user, change = {}, withAccessTokens }: UserAccess,
  signal: AbortSignal,
): Promise<KubernetesObject> {
  if (withAccessTokens) await deleteAccessTokens?.(user, signal);
  const since = nextSecond(now());
  const written = await status.patch(user, async (object) => ({
    ...(typeof change === 'function' ? await change(object) : change),
    sessionsNotBefore: timestamp(since),
  }));
  await untilValid(since, now);
  return written;
}

async function endSubject(
  services: Services,
  { revokedTokens }: EndAccessNeeds,
  { subject, once = false }: SubjectAccess,
  signal: AbortSignal,
): Promise<void> {
  await revokeSubject(services, subject, signal, { once });
  if (!once) await revokedTokens?.untilSubjectEnded(subject, signal);
}

function required({ revokedTokens }: EndAccessNeeds): RevokedTokens {
  if (revokedTokens === undefined) throw new Error('no login is configured');
  return revokedTokens;
}

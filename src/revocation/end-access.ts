/** Ends the access of a user, a user name in Kubernetes, a login or bearer tokens. */
import { nextSecond, sleepUntil, timestamp } from '@atrium/kubernetes/clock.ts';
import { neverAborts } from '@atrium/kubernetes/deadline.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { ServiceResource } from '@atrium/kubernetes/resource-client.ts';
import { serviceUnavailable } from '@atrium/objects/status.ts';
import type { Services } from '../services.ts';
import type { EndReason, EndUserAccess, SubjectAccess, UserAccess } from '../users/ended-access.ts';
import { type UserReference, UserStatusWriter } from '../users/status.ts';
import {
  type EndedLogin,
  type IssuedBearer,
  type IssuerLogout,
  type RevokedTokens,
  revokedTokenKind,
  revokedTokenName,
  type SessionBearers,
} from './revoked-tokens.ts';

/** Bearer token, or all bearer tokens of a session at the issuer. */
type BearerAccess = { readonly bearer: IssuedBearer; readonly owner: string } | { readonly sessionBearers: SessionBearers };

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
    signal: AbortSignal = neverAborts,
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
  await sleepUntil(since, now);
  return written;
}

async function endSubject(
  services: Services,
  { revokedTokens }: EndAccessNeeds,
  { subject, once = false }: SubjectAccess,
  signal: AbortSignal,
): Promise<void> {
  await revokeSubject(services, subject, signal, { once });
  if (!once) await revokedTokens?.watch.waitForWrite(() => revokedTokens.hasSubject(subject.subjectName, subject.now.getTime()), signal);
}

function required({ revokedTokens }: EndAccessNeeds): RevokedTokens {
  if (revokedTokens === undefined) throw new Error('no login is configured');
  return revokedTokens;
}

/** A revocation lasts as long as any token may live, whatever the settings were when it was issued. */
const leastRevocationMs = 30 * 86_400_000;

/** Returns the latest expiry of a token or session that exists now. */
const revocationEnd = (now: Date, { absolute }: { absolute: number }): Date =>
  new Date(now.getTime() + Math.max(absolute, leastRevocationMs));

const uidAnnotation = 'auth.platform.io/user-uid';

/**
 * Ends all tokens and sessions of a user name. The same name may be ended again later.
 *
 * @param once writes nothing if the access of that very record was ended before, so that a new user of the name keeps later tokens
 * @throws StatusError 503, 504
 */
async function revokeSubject(
  { client, config }: Pick<Services, 'client' | 'config'>,
  { subjectName, record, now }: SubjectAccess['subject'],
  signal: AbortSignal,
  { once = false } = {},
): Promise<void> {
  const name = revokedTokenName('Subject', subjectName);
  const expiration = timestamp(revocationEnd(now, config.login.session));
  const spec = { kind: 'Subject', notBefore: timestamp(nextSecond(now)), expiration, user: record.name };
  const annotations = { [uidAnnotation]: record.uid };
  const revokedTokens = new ServiceResource(client, revokedTokenKind);
  const object = { apiVersion: 'auth.platform.io/v1', kind: 'RevokedToken', metadata: { name, annotations }, spec };
  const created = await revokedTokens.create(object, { signal, isRepeatable: true });
  if (created !== 'conflict' || (once && (await isEnded(revokedTokens, name, record.uid, signal)))) return;
  const written = await revokedTokens.patch(name, { metadata: { annotations }, spec }, { signal, isRepeatable: true });
  if (written === 'conflict' || written === 'gone')
    throw serviceUnavailable('kubernetes', { cause: new Error(`the RevokedToken was written meanwhile: ${written}`) });
}

/** Reports whether the tokens of the record were ended. */
async function isEnded(revokedTokens: ServiceResource, name: string, userUID: string, signal: AbortSignal): Promise<boolean> {
  const stored = await revokedTokens.getByList(name, signal);
  return stored?.metadata.annotations?.[uidAnnotation] === userUID;
}

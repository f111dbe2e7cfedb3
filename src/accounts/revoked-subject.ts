import { hash } from 'node:crypto';
import { StatusError, serviceUnavailable } from '../http/status.ts';
import type { ServiceClient } from '../kubernetes/api-server.ts';
import { type ResourceType, resourcePath } from '../kubernetes/resource.ts';
import { nextSecond, timestamp } from './timestamp.ts';

/** The custom resource RevokedToken; deploy/manifests holds its definition. */
export const revokedTokenResource: ResourceType = { group: 'auth.platform.io', version: 'v1', resource: 'revokedtokens' };

/** `spec.kind` of a RevokedToken. */
export type RevokedKind = 'Bearer' | 'Refresh' | 'Flow' | 'Subject' | 'Logout';

/** The kind is hashed too: what callers can choose in one kind names nothing in another. */
export const revokedTokenName = (kind: RevokedKind, text: string) => `rt-${hash('sha256', `${kind}\0${text}`).slice(0, 40)}`;

interface SubjectRevocation {
  /** The user name that Kubernetes sees. */
  subjectName: string;
  /** Name of the User record. */
  user: string;
  /** What was issued before this second ends does not count. */
  now: Date;
  /** Until when something could count that was issued by now. */
  expiresAt: Date;
}

/** Ends every token and session of a user name; the same name may be ended again later. @throws StatusError 503, 504 */
export async function revokeSubject(client: ServiceClient, revocation: SubjectRevocation, signal: AbortSignal): Promise<void> {
  const name = revokedTokenName('Subject', revocation.subjectName);
  const notBefore = timestamp(nextSecond(revocation.now));
  const spec = { kind: 'Subject', notBefore, expiration: timestamp(revocation.expiresAt), user: revocation.user };
  const body = { apiVersion: 'auth.platform.io/v1', kind: 'RevokedToken', metadata: { name }, spec };
  try {
    await client.request({ method: 'POST', path: resourcePath(revokedTokenResource), body, call: 'create revokedtokens', signal });
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    if (error.status.code !== 409) throw error.status.code >= 500 ? error : serviceUnavailable('kubernetes', { cause: error });
    const path = resourcePath(revokedTokenResource, { name });
    const contentType = 'application/merge-patch+json';
    await client.request({ method: 'PATCH', path, contentType, body: { spec }, call: 'patch revokedtokens', signal });
  }
}

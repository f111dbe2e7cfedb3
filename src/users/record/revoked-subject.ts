import { hash } from 'node:crypto';
import { StatusError, serviceUnavailable } from '../../api/status.ts';
import type { ServiceClient } from '../../kubernetes/api-server.ts';
import { isKubernetesObject, isRecord, type ResourceType, resourcePath } from '../../kubernetes/resource.ts';
import { nextSecond, timestamp } from '../../kubernetes/timestamp.ts';

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
  /** Of the record, so that a later record of that name is told apart. */
  userUID: string;
  /** What was issued before this second ends does not count. */
  now: Date;
  /** Until when something could count that was issued by now. */
  expiresAt: Date;
}

/** The last day on which a token issued today can count, whatever the settings were when it was issued. */
const leastRevocationMs = 30 * 86_400_000;

/** Until when what ends a subject is kept. */
export const revocationEnd = (now: Date, { absolute }: { absolute: number }): Date =>
  new Date(now.getTime() + Math.max(absolute, leastRevocationMs));

const uidAnnotation = 'auth.platform.io/user-uid';

/**
 * Ends every token and session of a user name; the same name may be ended again later.
 *
 * @param once whether nothing is written if that very record's were ended before: who gets the name meanwhile keeps theirs
 * @throws StatusError 503, 504
 */
export async function revokeSubject(
  client: ServiceClient,
  revocation: SubjectRevocation,
  signal: AbortSignal,
  { once = false } = {},
): Promise<void> {
  const name = revokedTokenName('Subject', revocation.subjectName);
  const notBefore = timestamp(nextSecond(revocation.now));
  const spec = { kind: 'Subject', notBefore, expiration: timestamp(revocation.expiresAt), user: revocation.user };
  const annotations = { [uidAnnotation]: revocation.userUID };
  const body = { apiVersion: 'auth.platform.io/v1', kind: 'RevokedToken', metadata: { name, annotations }, spec };
  try {
    await client.request({
      method: 'POST',
      path: resourcePath(revokedTokenResource),
      body,
      call: 'create revokedtokens',
      signal,
      isRepeatable: true,
    });
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    if (error.status.code !== 409) throw error.status.code >= 500 ? error : serviceUnavailable('kubernetes', { cause: error });
    if (once && (await isEnded(client, name, revocation.userUID, signal))) return;
    const path = resourcePath(revokedTokenResource, { name });
    const contentType = 'application/merge-patch+json';
    await client.request({
      method: 'PATCH',
      path,
      contentType,
      body: { metadata: { annotations }, spec },
      call: 'patch revokedtokens',
      signal,
      isRepeatable: true,
    });
  }
}

/** Whether the record's tokens were ended; the account of the service may list, not get. */
async function isEnded(client: ServiceClient, name: string, userUID: string, signal: AbortSignal): Promise<boolean> {
  const query = new URLSearchParams({ fieldSelector: `metadata.name=${name}` });
  const list = await client.request({ method: 'GET', path: resourcePath(revokedTokenResource), query, call: 'list revokedtokens', signal });
  const items = isRecord(list) && Array.isArray(list.items) ? list.items : [];
  return items.some((item) => isKubernetesObject(item) && item.metadata.annotations?.[uidAnnotation] === userUID);
}

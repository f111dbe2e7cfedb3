import { serviceUnavailable } from '../api/status.ts';
import type { ServiceClient } from '../kubernetes/kubernetes-client.ts';
import type { KubernetesObject } from '../kubernetes/resource.ts';
import { type ResourceKind, ServiceResource } from '../kubernetes/resource-client.ts';
import { timestamp } from '../kubernetes/timestamp.ts';
import type { Account, Subject } from '../users/record/account.ts';
import { userApiVersion } from '../users/record/resource.ts';
import { type AccessTokenRow, accessTokenApiVersion, accessTokenResource } from './row.ts';

export const accessTokenKind: ResourceKind = { type: accessTokenResource, kind: 'AccessToken' };

interface StoredToken {
  id: string;
  owner: Account;
  /** Account at an external issuer that creates the token; undefined for other credentials. */
  subject: Subject | undefined;
  description: string;
  tokenHash: string;
  issuedAt: Date;
  expiresAt: Date;
}

/** Creates an AccessToken with an owner reference, so that it is deleted with the user. @throws StatusError 503, 504 */
export async function storeToken(
  client: ServiceClient,
  { id, owner, subject, description, tokenHash, issuedAt, expiresAt }: StoredToken,
  { isDryRun, signal }: { isDryRun: boolean; signal: AbortSignal },
): Promise<KubernetesObject> {
  const { name, uid, email: ownerEmail } = owner;
  const times = { issuedAt: timestamp(issuedAt), expiration: timestamp(expiresAt) };
  const spec = { owner: name, ownerEmail, ...(subject && { subject }), description, tokenHash, ...times };
  const ownerReferences = [{ apiVersion: userApiVersion, kind: 'User', name, uid }];
  const object = { apiVersion: accessTokenApiVersion, kind: 'AccessToken', metadata: { name: id, ownerReferences }, spec };
  const created = await new ServiceResource(client, accessTokenKind).create(object, { isDryRun, signal });
  if (created === 'conflict') throw serviceUnavailable('kubernetes', { cause: new Error('there is an AccessToken of that name') });
  return created;
}

/** Deletes the token with this UID. @returns whether it existed; @throws StatusError 503, 504 */
export const removeToken = (client: ServiceClient, { name, uid }: AccessTokenRow, { signal }: { signal: AbortSignal }): Promise<boolean> =>
  new ServiceResource(client, accessTokenKind).remove(name, { preconditions: { uid }, signal });

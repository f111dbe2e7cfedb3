import type { Account, Subject } from '../accounts/account.ts';
import { timestamp } from '../accounts/timestamp.ts';
import { userApiVersion } from '../accounts/user-resource.ts';
import { StatusError, serviceUnavailable } from '../http/status.ts';
import type { CallerClient, ServiceClient } from '../kubernetes/api-server.ts';
import { isKubernetesObject, type KubernetesObject, resourcePath } from '../kubernetes/resource.ts';
import { type AccessTokenRow, accessTokenApiVersion, accessTokenResource } from './row.ts';

interface StoredToken {
  id: string;
  owner: Account;
  /** Who makes it, where that is somebody at an external issuer. */
  subject: Subject | undefined;
  description: string;
  tokenHash: string;
  issuedAt: Date;
  expiresAt: Date;
}

/** Writes a new token, owned by the user, who takes it along when deleted. @throws StatusError 503, 504 */
export async function storeToken(
  client: ServiceClient,
  { id, owner, subject, description, tokenHash, issuedAt, expiresAt }: StoredToken,
  { isDryRun, signal }: { isDryRun: boolean; signal: AbortSignal },
): Promise<KubernetesObject | undefined> {
  const { name, uid, email: ownerEmail } = owner;
  const times = { issuedAt: timestamp(issuedAt), expiration: timestamp(expiresAt) };
  const spec = { owner: name, ownerEmail, ...(subject && { subject }), description, tokenHash, ...times };
  const ownerReferences = [{ apiVersion: userApiVersion, kind: 'User', name, uid }];
  const created = await client
    .request({
      method: 'POST',
      path: resourcePath(accessTokenResource),
      query: new URLSearchParams({ fieldManager: 'atrium', ...(isDryRun && { dryRun: 'All' }) }),
      body: { apiVersion: accessTokenApiVersion, kind: 'AccessToken', metadata: { name: id, ownerReferences }, spec },
      call: 'create accesstokens',
      signal,
    })
    .catch(notTheirs);
  return isKubernetesObject(created) ? created : undefined;
}

interface Removal {
  isDryRun?: boolean;
  resourceVersion?: string | undefined;
  signal: AbortSignal;
}

/** Deletes that very token. @returns whether it was there; @throws UpstreamError, StatusError */
export async function removeToken(
  client: Pick<ServiceClient | CallerClient, 'request'>,
  { name, uid }: AccessTokenRow,
  { isDryRun = false, resourceVersion, signal }: Removal,
): Promise<boolean> {
  const preconditions = { uid, ...(resourceVersion !== undefined && { resourceVersion }) };
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions, ...(isDryRun && { dryRun: ['All'] }) };
  try {
    await client.request({
      method: 'DELETE',
      path: resourcePath(accessTokenResource, { name }),
      body,
      call: 'delete accesstokens',
      signal,
    });
    return true;
  } catch (error) {
    if (error instanceof StatusError && error.status.code === 404) return false;
    throw error;
  }
}

/** What we wrote, or where, is our trouble. */
function notTheirs(error: unknown): never {
  const isTheirs = !(error instanceof StatusError) || error.status.code >= 500;
  throw isTheirs ? error : serviceUnavailable('kubernetes', { cause: error });
}

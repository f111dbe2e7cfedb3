import { hash } from 'node:crypto';
import { serviceUnavailable } from '../api/status.ts';
import type { ResourceType } from '../kubernetes/resource.ts';
import { ServiceResource } from '../kubernetes/resource-client.ts';
import { nextSecond, timestamp } from '../kubernetes/timestamp.ts';
import type { Services } from '../services.ts';
import type { SubjectAccess } from '../users/end-access.ts';

/** Custom resource RevokedToken, defined in deploy/manifests. */
export const revokedTokenResource: ResourceType = { group: 'auth.platform.io', version: 'v1', resource: 'revokedtokens' };

/** `spec.kind` of a RevokedToken. */
export type RevokedKind = 'Bearer' | 'Refresh' | 'Flow' | 'Subject' | 'Logout';

/**
 * Returns the object name for a text. The hash includes the kind, so that a text chosen by a caller cannot name an object of another kind.
 */
export const revokedTokenName = (kind: RevokedKind, text: string) => `rt-${hash('sha256', `${kind}\0${text}`).slice(0, 40)}`;

/** Longest lifetime of a token, whatever the settings were when it was issued. */
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
export async function revokeSubject(
  { client, config }: Pick<Services, 'client' | 'config'>,
  { subjectName, record, now }: SubjectAccess['subject'],
  signal: AbortSignal,
  { once = false } = {},
): Promise<void> {
  const name = revokedTokenName('Subject', subjectName);
  const expiration = timestamp(revocationEnd(now, config.login.session));
  const spec = { kind: 'Subject', notBefore: timestamp(nextSecond(now)), expiration, user: record.name };
  const annotations = { [uidAnnotation]: record.uid };
  const revokedTokens = new ServiceResource(client, { type: revokedTokenResource, kind: 'RevokedToken' });
  const object = { apiVersion: 'auth.platform.io/v1', kind: 'RevokedToken', metadata: { name, annotations }, spec };
  const created = await revokedTokens.create(object, { signal, isRepeatable: true });
  if (created !== 'conflict' || (once && (await isEnded(revokedTokens, name, record.uid, signal)))) return;
  const written = await revokedTokens.patch(name, { metadata: { annotations }, spec }, { signal, isRepeatable: true });
  if (written === 'conflict' || written === 'gone')
    throw serviceUnavailable('kubernetes', { cause: new Error(`the RevokedToken was written meanwhile: ${written}`) });
}

/** Reports whether the tokens of the record were ended. Uses a list, because the service account has no right to get. */
async function isEnded(revokedTokens: ServiceResource, name: string, userUID: string, signal: AbortSignal): Promise<boolean> {
  for await (const { metadata } of revokedTokens.list({ fieldSelector: `metadata.name=${name}` }, signal))
    if (metadata.annotations?.[uidAnnotation] === userUID) return true;
  return false;
}

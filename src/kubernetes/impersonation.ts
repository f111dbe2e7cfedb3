import { unauthorized } from '../api/status.ts';
import type { Identity } from '../http/operation.ts';
import { isRefusal } from './upstream-error.ts';

/** Headers by lower-case name; a list is sent as one header line for each of its values. */
export type ImpersonationHeaders = Readonly<Record<string, string | string[]>>;

/**
 * The headers that make a call ours in another's name. Groups that the cluster keeps for itself are left out: `system:authenticated` is added by the
 * API server, and no other one is ours to give.
 *
 * @throws StatusError 401 for an identity whose name is one of Kubernetes itself, or that no header can say exactly
 * @see https://kubernetes.io/docs/reference/access-authn-authz/user-impersonation/
 */
export function impersonationHeaders({ name, uid, groups, extra }: Identity): ImpersonationHeaders {
  if (isReserved(name)) throw unauthorized({ tokenGiven: true });
  const given = groups.filter((group) => !isReservedGroup(group)).map(headerValue);
  const extras = Object.entries(extra).filter(([, values]) => values.length > 0);
  return {
    'impersonate-user': headerValue(name),
    ...(uid !== '' && { 'impersonate-uid': headerValue(uid) }),
    ...(given.length > 0 && { 'impersonate-group': given }),
    ...Object.fromEntries(extras.map(([key, values]) => [`impersonate-extra-${headerKey(key)}`, values.map(headerValue)])),
  };
}

/**
 * Whether the API server refused that our account acts as a user, which is not about what that user may do. The verb is
 * `impersonate`, or from 1.35 on `impersonate-on:user-info:list` and the like.
 */
export const isImpersonationRefusal = (error: unknown) =>
  isRefusal(error, 403) && /" cannot impersonate\S* resource "/.test(error.status.message);

const isReserved = (name: string) => name.startsWith('system:');

/** Of Kubernetes itself, or of kubeadm, which binds `kubeadm:cluster-admins` to cluster-admin: no user is in one by what others tell. */
export const isReservedGroup = (name: string): boolean => isReserved(name) || name.startsWith('kubeadm:');

/** What could end a header, or what a server on the way might cut off: ` system:masters` would arrive as `system:masters`. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const unfitForHeader = /^$|^\s|\s$|[\u0000-\u001f\u007f-\u009f]/;

/** Whether a header can say a name or a group exactly, so that calls can be made as it. */
export const fitsHeader = (text: string): boolean => !unfitForHeader.test(text) && text.isWellFormed();

/** The API server reads UTF-8, and a header is written byte for byte from code units. */
function headerValue(text: string): string {
  if (!fitsHeader(text)) throw unauthorized({ tokenGiven: true });
  return Buffer.from(text).toString('latin1');
}

/** The API server decodes percent-encoding and sees lower case only. */
function headerKey(text: string): string {
  if (text === '' || !text.isWellFormed()) throw unauthorized({ tokenGiven: true });
  return encodeURIComponent(text.toLowerCase()).replaceAll('(', '%28').replaceAll(')', '%29');
}

import type { Bearer, Identity, ViewTarget } from '@atrium/http/caller.ts';
import { unauthorized } from '@atrium/objects/status.ts';
import { isRefusal } from './upstream-error.ts';

/** Headers by lower-case name. A list is sent as a header line for each value. */
export type ImpersonationHeaders = Readonly<Record<string, string | string[]>>;

/**
 * Returns the headers that make a call as another user. Groups that the cluster reserves are left out: the API server adds
 * `system:authenticated`, and no other reserved group may be granted here.
 *
 * @throws StatusError 401 for a reserved user name, or for an identity that headers cannot represent exactly
 * @see https://kubernetes.io/docs/reference/access-authn-authz/user-impersonation/
 */
function impersonationHeaders({ name, uid, groups, extra }: Identity): ImpersonationHeaders {
  if (isReservedName(name)) throw unauthorized({ tokenGiven: true });
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
 * Extra with the user who acts, for the API server's audit log and its admission policies. Constrained impersonation requires a domain and
 * lower case.
 */
const actorKey = 'atrium.platform.io/actor';

/** User as whom the calls of a bearer are made. */
interface ActingAs {
  /** True if the calls carry the caller's own token; the service's account is used otherwise. */
  readonly isOwn: boolean;
  readonly headers: ImpersonationHeaders | undefined;
}

/**
 * Returns how calls of a bearer are made: with the token or by impersonation, and as the user that the caller views the cluster as.
 *
 * @throws StatusError 401 for an identity that cannot be impersonated
 */
export function actingAs({ actAs, viewing }: Bearer): ActingAs {
  if (actAs === undefined) return { isOwn: true, headers: viewing && viewHeadersOf(viewing.target) };
  const target = viewing && { ...viewing.target, extra: { [actorKey]: [actAs.name] } };
  return { isOwn: false, headers: impersonationHeaders(target ?? actAs) };
}

/** Returns a bearer whose calls name the user who acts, also where that is the user themself. Calls with the user's own token cannot. */
export function namingActor(bearer: Bearer): Bearer {
  const { actAs } = bearer;
  return actAs === undefined ? bearer : { ...bearer, actAs: { ...actAs, extra: { ...actAs.extra, [actorKey]: [actAs.name] } } };
}

/** Returns the headers with every reserved name, about which the API server decides: the caller's own token goes with them. */
const viewHeadersOf = ({ name, uid, groups }: ViewTarget): ImpersonationHeaders => ({
  'impersonate-user': name,
  ...(uid !== '' && { 'impersonate-uid': uid }),
  ...(groups.length > 0 && { 'impersonate-group': [...groups] }),
});

/**
 * Reports whether the API server refused the impersonation itself, which says nothing about the rights of the user. The verb is
 * `impersonate`, or since 1.35 `impersonate-on:user-info:list` and the like.
 */
export const isImpersonationRefusal = (error: unknown) =>
  isRefusal(error, 403) && /" cannot impersonate\S* (?:resource|path) "/.test(error.status.message);

/** Reports whether a name of a user or group belongs to Kubernetes. */
export const isReservedName = (name: string): boolean => name.startsWith('system:');

/**
 * Reports whether a group belongs to Kubernetes, or to kubeadm, which binds `kubeadm:cluster-admins` to cluster-admin. No issuer may put
 * users into such a group.
 */
export const isReservedGroup = (name: string): boolean => isReservedName(name) || name.startsWith('kubeadm:');

/** Characters that could end a header, or that a proxy might trim: ` system:masters` would arrive as `system:masters`. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const unfitForHeader = /^$|^\s|\s$|[\u0000-\u001f\u007f-\u009f]/;

/** Reports whether a header can hold a name or group exactly, so that calls can be made as it. */
export const fitsHeader = (text: string): boolean => !unfitForHeader.test(text) && text.isWellFormed();

/** Maximum length of a group in a User record. */
const maxGroupLength = 253;

/** Returns the groups from an issuer or directory that calls can be made with. */
export const grantableGroups = (groups: readonly string[]): string[] =>
  groups.filter((group) => group.length <= maxGroupLength && fitsHeader(group) && !isReservedGroup(group));

/** Encodes a value: the API server reads UTF-8, and Node.js writes a header byte for byte from code units. */
function headerValue(text: string): string {
  if (!fitsHeader(text)) throw unauthorized({ tokenGiven: true });
  return Buffer.from(text).toString('latin1');
}

/** Encodes a key: the API server decodes percent-encoding, and converts it to lower case. */
function headerKey(text: string): string {
  if (text === '' || !text.isWellFormed()) throw unauthorized({ tokenGiven: true });
  return encodeURIComponent(text.toLowerCase()).replaceAll('(', '%28').replaceAll(')', '%29');
}

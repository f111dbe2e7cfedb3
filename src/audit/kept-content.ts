/** Bodies of writes in audit events: which are kept, and without what. */
import { shippedKinds } from '@atrium/kubernetes/manifests.ts';
import { isRecord } from '@atrium/objects/reader.ts';
import { appliedAnnotation } from '@atrium/objects/shown-object.ts';
import { qualified } from '@atrium/objects/status.ts';

interface Kind {
  group: string;
  resource: string;
}

/** Bytes that a body may add to its event. */
export const maxBodyTextBytes = 8 * 1024;

/** Kinds of the service with sealed values, digests or numbers of tokens. */
const closedKinds = ['accesstokens', 'changeproposals', 'factors', 'identityrecords', 'revokedtokens', 'sessions'];
const ownKinds = new Set(shippedKinds.filter(({ resource }) => !closedKinds.includes(resource)).map(qualified));
const ownGroups = new Set(shippedKinds.map(({ group }) => group));
/** Groups of reviews, which have tokens, and of the service: another version may have further kinds there. */
const closedGroups = new Set([...ownGroups, 'authentication.k8s.io']);

/** Reports whether the bodies of a resource are never kept, because they have credentials or may have them. */
export function isSecret({ group, resource, subresource }: Kind & { subresource: string }): boolean {
  if (isOwn({ group, resource })) return false;
  // Behind a proxy an application takes logins.
  return closedGroups.has(group) || (group === '' && resource === 'secrets') || ['token', 'proxy'].includes(subresource);
}

/** Reports whether a body is kept without a policy: those of RBAC and of the service. */
export const isKeptByDefault = (kind: Kind): boolean => kind.group === 'rbac.authorization.k8s.io' || isOwn(kind);

/** Reports whether a resource is a kind of the service without credentials. */
const isOwn = ({ group, resource }: Kind): boolean => ownGroups.has(group) && ownKinds.has(qualified({ group, resource }));

/** Returns the content of a body as JSON in one line, without credentials; undefined for one that is too long, or of a kind of which none is kept. */
export function keptText(kind: Kind, content: unknown): string | undefined {
  if (isSecret({ subresource: '', ...kind })) return undefined;
  const text = JSON.stringify(content, ownGroups.has(kind.group) ? withoutCredential : undefined);
  // The event is JSON itself.
  return text === undefined || Buffer.byteLength(JSON.stringify(text)) > maxBodyTextBytes ? undefined : text;
}

/** Reports whether a body of a kind of the service has a member that may be a credential. */
export const hasCredential = (content: unknown): boolean => JSON.stringify(content) !== JSON.stringify(content, withoutCredential);

/** Members that may be credentials, among them the fields of third parties, and kubectl's copy of the whole object. */
const isCredential = (name: string): boolean =>
  name === 'extra' || name === appliedAnnotation || /pass|pwd|secret|token|sealed|hash|credential/i.test(name);

/** Reports whether a JSON Pointer leads through such a member. @see RFC 6901 */
const isCredentialPath = (path: unknown): boolean =>
  typeof path === 'string' && path.split('/').some((name) => isCredential(name.replaceAll('~1', '/')));

/** Leaves a member out that may be a credential. A fact such as `must_change_password: true` is none. */
function withoutCredential(name: string, value: unknown): unknown {
  if (isCredential(name) && typeof value !== 'boolean') return undefined;
  return isRecord(value) && isCredentialPath(value.path) ? { ...value, value: undefined } : value;
}

import { isRecord } from '@atrium/objects/reader.ts';
import { type GroupResource, unknownPath } from '@atrium/objects/status.ts';

/** A resource and its version, such as `users` in `auth.platform.io`, `v1`. The core group is ''. */
export interface ResourceType extends GroupResource {
  version: string;
}

/** @see https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/ */
interface ObjectMeta {
  name: string;
  namespace?: string;
  uid: string;
  /** Opaque, but for its order: see resource-version.ts. */
  resourceVersion: string;
  /** RFC 3339. */
  creationTimestamp: string;
  deletionTimestamp?: string;
  generation?: number;
  finalizers?: string[];
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  [member: string]: unknown;
}

/** An object of the API. Items of a list have no `apiVersion` and `kind`. */
export interface KubernetesObject {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  [member: string]: unknown;
}

export interface ResourceTarget {
  namespace?: string;
  name?: string;
  subresource?: string;
}

/**
 * Returns a path like `/api/v1/namespaces/shop/configmaps/logo` or `/apis/auth.platform.io/v1/users`.
 *
 * @throws StatusError 404 for a segment that cannot be the name of an object, and that might lead to another path
 */
export function resourcePath(type: ResourceType, { namespace, name, subresource }: ResourceTarget = {}): string {
  const segments = type.group === '' ? ['api', type.version] : ['apis', type.group, type.version];
  if (namespace !== undefined) segments.push('namespaces', namespace);
  segments.push(type.resource);
  if (name !== undefined) segments.push(name);
  if (subresource !== undefined) segments.push(subresource);
  return `/${segments.map(pathSegment).join('/')}`;
}

/** Segments that break the rule of Kubernetes for path segment names (`.`, `..`, `/`, `%`), or that a proxy may take for one of these. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const unfitForPath = /^\.{0,2}$|[/%\\\u0000-\u001f\u007f]/;

const isFitForPath = (text: string) => text.length <= 253 && !unfitForPath.test(text) && text.isWellFormed();

function pathSegment(text: string): string {
  if (!isFitForPath(text)) throw unknownPath();
  return encodeURIComponent(text).replaceAll('%3A', ':');
}

/** Path of the groups in the discovery of the API server. */
export const groupsPath = '/apis';
/** Path of the core group in the discovery of the API server. */
export const corePath = '/api';

/** Reports whether a path below `/api` or `/apis` has the same meaning for every proxy, like those of `resourcePath`. */
export function isResourcePath(path: string): boolean {
  return (
    /^\/apis?\/[\w.~!$&'()*+,;=:@%/-]+$/.test(path) &&
    path
      .split('/')
      .slice(1)
      .every((segment) => isFitForPath(decoded(segment)))
  );
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return '';
  }
}

/** Reports whether an answer of the API server is an object with the metadata of a stored object. */
export function isKubernetesObject(value: unknown): value is KubernetesObject {
  if (!isRecord(value) || !isRecord(value.metadata)) return false;
  const { name, uid, resourceVersion, creationTimestamp } = value.metadata;
  return [name, uid, resourceVersion, creationTimestamp].every((member) => typeof member === 'string' && member !== '');
}

import { isRecord } from '../api/reader.ts';
import { type GroupResource, unknownPath } from '../api/status.ts';

/** A resource with the version it is spoken in, e.g. `users` in `auth.platform.io`, `v1`. The core group is ''. */
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

/** Any object of the API; items of a list come without `apiVersion` and `kind`. */
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
 * `/api/v1/namespaces/shop/configmaps/logo`, `/apis/auth.platform.io/v1/users`.
 *
 * @throws StatusError 404 for a segment that no object can have as its name, and that might turn the path into another one
 */
export function resourcePath(type: ResourceType, { namespace, name, subresource }: ResourceTarget = {}): string {
  const segments = type.group === '' ? ['api', type.version] : ['apis', type.group, type.version];
  if (namespace !== undefined) segments.push('namespaces', namespace);
  segments.push(type.resource);
  if (name !== undefined) segments.push(name);
  if (subresource !== undefined) segments.push(subresource);
  return `/${segments.map(pathSegment).join('/')}`;
}

/** Kubernetes' rule for path segment names (`.`, `..`, `/`, `%`), and what a server on the way may take for one of these. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const unfitForPath = /^\.{0,2}$|[/%\\\u0000-\u001f\u007f]/;

const isFitForPath = (text: string) => text.length <= 253 && !unfitForPath.test(text) && text.isWellFormed();

function pathSegment(text: string): string {
  if (!isFitForPath(text)) throw unknownPath();
  return encodeURIComponent(text).replaceAll('%3A', ':');
}

/** Whether a path below `/api` or `/apis` means the same to every server on its way: what `resourcePath` builds, and literals like it. */
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

/** Whether an answer of the API server is an object with the metadata that every stored object has. */
export function isKubernetesObject(value: unknown): value is KubernetesObject {
  if (!isRecord(value) || !isRecord(value.metadata)) return false;
  const { name, uid, resourceVersion, creationTimestamp } = value.metadata;
  return [name, uid, resourceVersion, creationTimestamp].every((member) => typeof member === 'string' && member !== '');
}

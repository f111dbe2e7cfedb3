import type { ListRow } from '../collection/properties.ts';
import { isKubernetesObject, isRecord, type KubernetesObject } from '../kubernetes/resource.ts';
import { userBindingApiVersion } from './resource.ts';

/** Whom a UserBinding names: a record or Group of the service, or a name as Kubernetes sees it. */
export interface BindingSubject {
  readonly kind: 'User' | 'Group';
  readonly name: string;
}

type Scope = 'platform' | 'project' | 'namespace';

/** What is kept of a UserBinding: what lists select, filter and sort by, what has to be followed for it, and the JSON text that is served. */
export interface UserBindingRow extends ListRow {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  readonly isDeleted: boolean;
  readonly finalizers: readonly string[];
  readonly roleRef: string;
  readonly scope: Scope;
  readonly subjects: readonly BindingSubject[];
  /** Of `constraint`; of namespaces those for the scope `namespace`, of projects those for `project`. */
  readonly namespaces: readonly string[];
  readonly projects: readonly string[];
  readonly phase: string;
  /** Unix time. */
  readonly creationSeconds: number | undefined;
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const members = (value: unknown): Record<string, unknown>[] => (Array.isArray(value) ? value.filter(isRecord) : []);

/** Without what no answer holds. */
function servedText({ metadata, spec, status }: KubernetesObject): string {
  const { managedFields: _managedFields, ...served } = metadata;
  return JSON.stringify({
    apiVersion: userBindingApiVersion,
    kind: 'UserBinding',
    metadata: served,
    spec,
    ...(isRecord(status) && { status }),
  });
}

/** Called once per change of a UserBinding. */
export function userBindingRow(object: KubernetesObject): UserBindingRow {
  const { metadata } = object;
  const spec = isRecord(object.spec) ? object.spec : {};
  const status = isRecord(object.status) ? object.status : {};
  const scope = scopeOf(spec.scope);
  const places = (key: 'namespace' | 'project') =>
    scope === key ? [...new Set(members(spec.constraint).flatMap((one) => text(one[key]) || []))] : [];
  const seconds = Date.parse(metadata.creationTimestamp) / 1000;
  return {
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    generation: metadata.generation ?? 0,
    isDeleted: metadata.deletionTimestamp !== undefined,
    finalizers: Array.isArray(metadata.finalizers) ? metadata.finalizers.map(text) : [],
    labels: metadata.labels ?? {},
    text: servedText(object),
    roleRef: text(spec.roleRef),
    scope,
    subjects: members(spec.subjects).map(({ kind, name }) => ({ kind: kind === 'Group' ? 'Group' : 'User', name: text(name) })),
    namespaces: places('namespace'),
    projects: places('project'),
    phase: text(status.phase),
    creationSeconds: Number.isNaN(seconds) ? undefined : Math.floor(seconds),
  };
}

/** What the schema does not let in gets the narrowest: no place at all. */
const scopeOf = (value: unknown): Scope => (value === 'platform' || value === 'project' ? value : 'namespace');

/** The object that the row was made of, but for its managed fields. */
export function storedBinding(row: UserBindingRow | undefined): KubernetesObject | undefined {
  const object: unknown = row && JSON.parse(row.text);
  return isKubernetesObject(object) ? object : undefined;
}

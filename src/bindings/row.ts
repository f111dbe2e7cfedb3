import { partsOf } from '../api/reader.ts';
import type { ListRow } from '../collection/properties.ts';
import { isKubernetesObject, type KubernetesObject } from '../kubernetes/resource.ts';
import { readUserBinding, userBindingApiVersion } from './resource.ts';

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
  /** From when on, and until when it gives its role, in milliseconds since 1970; undefined for no bound. */
  readonly notBefore: number | undefined;
  readonly expiresAt: number | undefined;
  /** Unix time. */
  readonly creationSeconds: number | undefined;
}

/** Without what no answer holds. */
function servedText(object: KubernetesObject): string {
  const { managedFields: _managedFields, ...served } = object.metadata;
  const { status } = partsOf(object);
  return JSON.stringify({
    apiVersion: userBindingApiVersion,
    kind: 'UserBinding',
    metadata: served,
    spec: object.spec,
    ...(status && { status }),
  });
}

/** Called once per change of a UserBinding. */
export function userBindingRow(object: KubernetesObject): UserBindingRow {
  const { metadata } = object;
  const { spec = {}, status = {} } = readUserBinding(object);
  const scope = scopeOf(spec.scope);
  const places = (key: 'namespace' | 'project') =>
    scope === key ? [...new Set((spec.constraint ?? []).flatMap((one) => one[key] || []))] : [];
  const seconds = Date.parse(metadata.creationTimestamp) / 1000;
  return {
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    generation: metadata.generation ?? 0,
    isDeleted: metadata.deletionTimestamp !== undefined,
    finalizers: metadata.finalizers ?? [],
    labels: metadata.labels ?? {},
    text: servedText(object),
    roleRef: spec.roleRef ?? '',
    scope,
    subjects: (spec.subjects ?? []).map(({ kind, name = '' }) => ({ kind: kind === 'Group' ? 'Group' : 'User', name })),
    namespaces: places('namespace'),
    projects: places('project'),
    phase: status.phase ?? '',
    // What no clock understands gives no role: it has not begun, and is over.
    notBefore: timeOf(spec.notBefore, Number.POSITIVE_INFINITY),
    expiresAt: timeOf(spec.expiresAt, 0),
    creationSeconds: Number.isNaN(seconds) ? undefined : Math.floor(seconds),
  };
}

function timeOf(text: string | undefined, otherwise: number): number | undefined {
  if (text === undefined) return undefined;
  const time = Date.parse(text);
  return Number.isNaN(time) ? otherwise : time;
}

/** What the schema does not let in gets the narrowest: no place at all. */
const scopeOf = (value: string | undefined): Scope => (value === 'platform' || value === 'project' ? value : 'namespace');

/** The object that the row was made of, but for its managed fields. */
export function storedBinding(row: UserBindingRow | undefined): KubernetesObject | undefined {
  const object: unknown = row && JSON.parse(row.text);
  return isKubernetesObject(object) ? object : undefined;
}

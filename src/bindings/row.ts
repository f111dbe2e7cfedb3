import { isKubernetesObject, type KubernetesObject } from '@atrium/kubernetes/resource.ts';
import type { ListProperties } from '@atrium/lists/properties.ts';
import { folded } from '@atrium/objects/folded.ts';
import { type StandardRow, standardRow } from '../collection/standard-row.ts';
import { readUserBinding, userBindingKind } from './schema.ts';

const lower = (texts: readonly string[]): string[] => texts.map((text) => folded(text));

/** Properties that select, filter and sort UserBindings. Selection also works on API servers without selectable fields. */
export const bindingProperties: ListProperties<UserBindingRow> = {
  searched: new Map<string, (row: UserBindingRow) => string | readonly string[]>([
    ['name', (row) => row.name],
    ['roleRef', (row) => folded(row.roleRef)],
    ['subject', (row) => lower(row.subjects.map(({ name }) => name))],
    ['namespace', (row) => row.namespaces],
    ['project', (row) => lower(row.projects)],
  ]),
  search: ['name', 'roleRef', 'subject'],
  compared: new Map<string, (row: UserBindingRow) => string>([
    ['scope', (row) => row.scope],
    ['phase', (row) => row.phase],
  ]),
  sorted: new Map<string, (row: UserBindingRow) => string | number | undefined>([
    ['name', (row) => row.name],
    ['roleRef', (row) => row.roleRef],
    ['scope', (row) => row.scope],
    ['phase', (row) => row.phase || undefined],
    ['expiresAt', (row) => row.expiresAt],
    ['subject', (row) => row.subjects[0] && folded(row.subjects[0].name)],
    ['namespace', (row) => row.namespaces[0]],
    ['creationTimestamp', (row) => row.creationSeconds],
  ]),
  selectable: new Map<string, (row: UserBindingRow) => string>([
    ['metadata.name', (row) => row.name],
    ['spec.roleRef', (row) => row.roleRef],
    ['spec.scope', (row) => row.scope],
    ['status.phase', (row) => row.phase],
  ]),
  defaultSort: 'a,name',
};

/** Subject of a UserBinding: a User record or Group of the service, or a name in Kubernetes. */
export interface BindingSubject {
  readonly kind: 'User' | 'Group';
  readonly name: string;
}

type Scope = 'platform' | 'project' | 'namespace';

/** The cached part of a UserBinding: properties for lists, its dependencies, and the JSON text for answers. */
export interface UserBindingRow extends StandardRow {
  readonly generation: number;
  readonly isDeleted: boolean;
  readonly finalizers: readonly string[];
  readonly roleRef: string;
  readonly scope: Scope;
  readonly subjects: readonly BindingSubject[];
  /** Values of `constraint`: namespaces for the scope `namespace`, projects for the scope `project`. */
  readonly namespaces: readonly string[];
  readonly projects: readonly string[];
  readonly phase: string;
  /** Start and end of the role, in milliseconds since 1970; undefined if unbounded. */
  readonly notBefore: number | undefined;
  readonly expiresAt: number | undefined;
  /** AccessRequest that the binding belongs to. */
  readonly request: { readonly name: string; readonly uid: string } | undefined;
}

/** Returns the row of a UserBinding. Called once for each change. */
export function userBindingRow(object: KubernetesObject): UserBindingRow {
  const { metadata } = object;
  const { spec = {}, status = {} } = readUserBinding(object);
  const scope = scopeOf(spec.scope);
  const places = (key: 'namespace' | 'project') =>
    scope === key ? [...new Set((spec.constraint ?? []).flatMap((one) => one[key] || []))] : [];
  return {
    ...standardRow(userBindingKind, object),
    generation: metadata.generation ?? 0,
    isDeleted: metadata.deletionTimestamp !== undefined,
    finalizers: metadata.finalizers ?? [],
    roleRef: spec.roleRef ?? '',
    scope,
    subjects: (spec.subjects ?? []).map(({ kind, name = '' }) => ({ kind: kind === 'Group' ? 'Group' : 'User', name })),
    namespaces: places('namespace'),
    projects: places('project'),
    phase: status.phase ?? '',
    // An invalid time grants no role: such a binding has not started and has expired.
    notBefore: timeOf(spec.notBefore, Number.POSITIVE_INFINITY),
    expiresAt: timeOf(spec.expiresAt, 0),
    request: spec.request && { name: spec.request.name ?? '', uid: spec.request.uid ?? '' },
  };
}

function timeOf(text: string | undefined, otherwise: number): number | undefined {
  if (text === undefined) return undefined;
  const time = Date.parse(text);
  return Number.isNaN(time) ? otherwise : time;
}

/** Returns the scope; an invalid one becomes the narrowest, without any namespace. */
const scopeOf = (value: string | undefined): Scope => (value === 'platform' || value === 'project' ? value : 'namespace');

/** Returns the object of a row, without its managed fields. */
export function storedBinding(row: UserBindingRow | undefined): KubernetesObject | undefined {
  const object: unknown = row && JSON.parse(row.text);
  return isKubernetesObject(object) ? object : undefined;
}

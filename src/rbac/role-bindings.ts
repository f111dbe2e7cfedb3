import { z } from 'zod';
import { reader } from '../api/reader.ts';
import type { KubernetesObject } from '../kubernetes/resource.ts';
import type { Change } from '../kubernetes/watch-cache.ts';

const userBindingLabel = 'auth.platform.io/userbinding';

/** A RoleBinding or ClusterRoleBinding, as far as people are bound by it. */
export interface RoleBinding {
  readonly kind: 'RoleBinding' | 'ClusterRoleBinding';
  readonly name: string;
  /** '' for a ClusterRoleBinding. */
  readonly namespace: string;
  readonly role: { readonly kind: 'Role' | 'ClusterRole'; readonly name: string };
  /** Name of the UserBinding that it was made for; undefined for one that was made by others. */
  readonly userBinding?: string;
  /** User names and groups as Kubernetes sees them, and service accounts where they are asked for. */
  readonly subjects: readonly BoundSubject[];
}

/** A person, or people. */
export interface Subject {
  readonly kind: 'User' | 'Group';
  readonly name: string;
}

/** Of a service account `name` is its user name, `system:serviceaccount:NAMESPACE:NAME`. */
export interface BoundSubject {
  readonly kind: Subject['kind'] | 'ServiceAccount';
  readonly name: string;
}

/** Of a role, or of a subject. */
const readReference = reader(z.object({ kind: z.string(), name: z.string(), namespace: z.string() }));

/** @param hasServiceAccounts whether service accounts are kept, too */
export function roleBindingOf(
  { metadata, roleRef, subjects }: KubernetesObject,
  kind: RoleBinding['kind'],
  hasServiceAccounts: boolean,
): RoleBinding {
  const role = readReference(roleRef);
  const namespace = metadata.namespace ?? '';
  const label = metadata.labels?.[userBindingLabel];
  return {
    kind,
    name: metadata.name,
    namespace,
    role: { kind: role.kind === 'Role' ? 'Role' : 'ClusterRole', name: role.name ?? '' },
    // The label of a long name only stands for it.
    ...(label !== undefined && { userBinding: metadata.annotations?.[userBindingLabel] ?? label }),
    subjects: (Array.isArray(subjects) ? subjects : [])
      .flatMap((subject) => boundSubject(subject, namespace) ?? [])
      .filter((subject) => hasServiceAccounts || subject.kind !== 'ServiceAccount'),
  };
}

/** A service account that names no namespace is of the binding's. */
function boundSubject(subject: unknown, bindingNamespace: string): BoundSubject | undefined {
  const { kind, name, namespace: given } = readReference(subject);
  if (name === undefined) return undefined;
  if (kind === 'User' || kind === 'Group') return { kind, name };
  const namespace = given || bindingNamespace;
  return kind === 'ServiceAccount' && namespace ? { kind, name: `system:serviceaccount:${namespace}:${name}` } : undefined;
}

const keyOf = ({ kind, name }: BoundSubject) => `${kind} ${name}`;

/** Bindings by whom they bind. Kept by change, so that a question costs what its answer is long. */
export class BindingIndex {
  readonly #bySubject = new Map<string, Set<RoleBinding>>();

  /** To be told of every change of the watched bindings. */
  record({ old, new: current }: Change<RoleBinding>): void {
    for (const subject of old?.subjects ?? []) this.#forget(subject, old as RoleBinding);
    for (const subject of current?.subjects ?? []) this.#keep(subject, current as RoleBinding);
  }

  /** Those that name exactly this subject, in no order. */
  of(subject: BoundSubject): readonly RoleBinding[] {
    return [...(this.#bySubject.get(keyOf(subject)) ?? [])];
  }

  #keep(subject: BoundSubject, binding: RoleBinding): void {
    const key = keyOf(subject);
    const known = this.#bySubject.get(key);
    if (known === undefined) this.#bySubject.set(key, new Set([binding]));
    else known.add(binding);
  }

  #forget(subject: BoundSubject, binding: RoleBinding): void {
    const key = keyOf(subject);
    const known = this.#bySubject.get(key);
    known?.delete(binding);
    if (known?.size === 0) this.#bySubject.delete(key);
  }
}

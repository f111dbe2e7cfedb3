import { isRecord, type KubernetesObject } from './resource.ts';
import type { Change } from './watch-cache.ts';

/** A RoleBinding or ClusterRoleBinding, as far as people are bound by it. */
export interface RoleBinding {
  readonly kind: 'RoleBinding' | 'ClusterRoleBinding';
  readonly name: string;
  /** '' for a ClusterRoleBinding. */
  readonly namespace: string;
  readonly role: { readonly kind: 'Role' | 'ClusterRole'; readonly name: string };
  readonly labels: Readonly<Record<string, string>>;
  /** User names and groups as Kubernetes sees them; service accounts are left out. */
  readonly subjects: readonly Subject[];
}

export interface Subject {
  readonly kind: 'User' | 'Group';
  readonly name: string;
}

export function roleBindingOf({ metadata, roleRef, subjects }: KubernetesObject, kind: RoleBinding['kind']): RoleBinding {
  const role = isRecord(roleRef) ? roleRef : {};
  return {
    kind,
    name: metadata.name,
    namespace: metadata.namespace ?? '',
    role: { kind: role.kind === 'Role' ? 'Role' : 'ClusterRole', name: String(role.name ?? '') },
    labels: metadata.labels ?? {},
    subjects: (Array.isArray(subjects) ? subjects : []).filter(isSubject).map((subject) => ({ kind: subject.kind, name: subject.name })),
  };
}

const isSubject = (subject: unknown): subject is Subject =>
  isRecord(subject) && (subject.kind === 'User' || subject.kind === 'Group') && typeof subject.name === 'string';

const keyOf = ({ kind, name }: Subject) => `${kind} ${name}`;

/** Bindings by whom they bind. Kept by change, so that a question costs what its answer is long. */
export class BindingIndex {
  readonly #bySubject = new Map<string, Set<RoleBinding>>();

  /** To be told of every change of the watched bindings. */
  record({ old, new: current }: Change<RoleBinding>): void {
    for (const subject of old?.subjects ?? []) this.#forget(subject, old as RoleBinding);
    for (const subject of current?.subjects ?? []) this.#keep(subject, current as RoleBinding);
  }

  /** Those that name exactly this subject, in no order. */
  of(subject: Subject): readonly RoleBinding[] {
    return [...(this.#bySubject.get(keyOf(subject)) ?? [])];
  }

  #keep(subject: Subject, binding: RoleBinding): void {
    const key = keyOf(subject);
    const known = this.#bySubject.get(key);
    if (known === undefined) this.#bySubject.set(key, new Set([binding]));
    else known.add(binding);
  }

  #forget(subject: Subject, binding: RoleBinding): void {
    const key = keyOf(subject);
    const known = this.#bySubject.get(key);
    known?.delete(binding);
    if (known?.size === 0) this.#bySubject.delete(key);
  }
}

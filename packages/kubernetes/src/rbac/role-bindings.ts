import { hash } from 'node:crypto';
import { reader } from '@atrium/objects/reader.ts';
import { z } from 'zod';
import type { KubernetesObject } from '../resource.ts';
import type { Change } from '../watch/watch-cache.ts';

/** A RoleBinding or ClusterRoleBinding with the subjects that are kept. */
export interface RoleBinding {
  readonly kind: 'RoleBinding' | 'ClusterRoleBinding';
  readonly name: string;
  /** Missing in bindings that are not stored yet. */
  readonly uid?: string;
  /** '' for a ClusterRoleBinding. */
  readonly namespace: string;
  readonly role: { readonly kind: 'Role' | 'ClusterRole'; readonly name: string };
  /** Missing in bindings that are not stored yet. */
  readonly creationTimestamp?: string;
  /** Name of the UserBinding that the service made it for; undefined for other bindings, whatever their labels. */
  readonly userBinding?: string;
  /** Users and groups by their names in Kubernetes, and service accounts if they are kept. */
  readonly subjects: readonly BoundSubject[];
}

/** A user or a group. */
export interface Subject {
  readonly kind: 'User' | 'Group';
  readonly name: string;
}

/** A subject of a binding. The `name` of a service account is its user name, `system:serviceaccount:NAMESPACE:NAME`. */
export interface BoundSubject {
  readonly kind: Subject['kind'] | 'ServiceAccount';
  readonly name: string;
}

/** Reads a reference to a role or a subject. */
const readReference = reader(z.object({ kind: z.string(), name: z.string(), namespace: z.string() }));

/** Returns the name of all bindings of a UserBinding. The uid separates it from an earlier UserBinding of the same name. */
export const madeBindingName = (uid: string): string => `ub-${hash('sha256', uid).slice(0, 24)}`;

const readOwners = reader(
  z.object({ ownerReferences: z.array(z.object({ apiVersion: z.string(), kind: z.string(), name: z.string(), uid: z.string() })) }),
);

/** Returns the UserBinding of a binding. A label proves nothing: it would hide a binding from reviews, or end another one in its place. */
const userBindingOf = (metadata: KubernetesObject['metadata']): string | undefined =>
  readOwners(metadata).ownerReferences?.find(
    ({ apiVersion = '', kind, uid = '' }) =>
      kind === 'UserBinding' && apiVersion.startsWith('auth.platform.io/') && metadata.name === madeBindingName(uid),
  )?.name;

/** Reads a binding. @param hasServiceAccounts keeps service accounts, too */
export function roleBindingOf(
  { metadata, roleRef, subjects }: KubernetesObject,
  kind: RoleBinding['kind'],
  hasServiceAccounts: boolean,
): RoleBinding {
  const role = readReference(roleRef);
  const namespace = metadata.namespace ?? '';
  const userBinding = userBindingOf(metadata);
  return {
    kind,
    name: metadata.name,
    uid: metadata.uid,
    namespace,
    role: { kind: role.kind === 'Role' ? 'Role' : 'ClusterRole', name: role.name ?? '' },
    ...(metadata.creationTimestamp && { creationTimestamp: metadata.creationTimestamp }),
    ...(userBinding !== undefined && { userBinding }),
    subjects: (Array.isArray(subjects) ? subjects : [])
      .flatMap((subject) => boundSubject(subject, namespace) ?? [])
      .filter((subject) => hasServiceAccounts || subject.kind !== 'ServiceAccount'),
  };
}

/** Reads a subject. A service account without a namespace is in that of the binding. */
function boundSubject(subject: unknown, bindingNamespace: string): BoundSubject | undefined {
  const { kind, name, namespace: given } = readReference(subject);
  if (name === undefined) return undefined;
  if (kind === 'User' || kind === 'Group') return { kind, name };
  const namespace = given || bindingNamespace;
  return kind === 'ServiceAccount' && namespace ? { kind, name: `system:serviceaccount:${namespace}:${name}` } : undefined;
}

const keyOf = ({ kind, name }: BoundSubject) => `${kind} ${name}`;

/** Bindings by subject, updated by each change, so that the cost of a query depends on its result alone. */
export class BindingIndex {
  readonly #bySubject = new Map<string, Set<RoleBinding>>();

  /** Records a change of the watched bindings. Every change must be recorded. */
  record({ old, new: current }: Change<RoleBinding>): void {
    for (const subject of old?.subjects ?? []) this.#forget(subject, old as RoleBinding);
    for (const subject of current?.subjects ?? []) this.#keep(subject, current as RoleBinding);
  }

  /** Returns the bindings that name exactly this subject, in no order. */
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

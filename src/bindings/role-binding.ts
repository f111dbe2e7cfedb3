/** The managed bindings: the RBAC bindings that the controller creates for a UserBinding. */
import { hash } from 'node:crypto';
import { madeBindingName, type Subject } from '@atrium/kubernetes/rbac/role-bindings.ts';
import type { KubernetesObject, ResourceType } from '@atrium/kubernetes/resource.ts';
import type { ResourceKind } from '@atrium/kubernetes/resource-client.ts';
import { type Reading, reader } from '@atrium/objects/reader.ts';
import { z } from 'zod';
import { bindingLabel, bindingLabelValue, userBindingApiVersion } from './schema.ts';

const group = 'rbac.authorization.k8s.io';
const apiVersion = `${group}/v1`;

/** The UserBinding that owns a managed binding. */
export interface Owner {
  readonly name: string;
  readonly uid: string;
  readonly roleRef: string;
}

export const roleBindings: ResourceType = { group, version: 'v1', resource: 'rolebindings' };
export const clusterRoleBindings: ResourceType = { group, version: 'v1', resource: 'clusterrolebindings' };

export const managedName = ({ uid }: Pick<Owner, 'uid'>): string => madeBindingName(uid);

const ownerReference = z.object({ apiVersion: z.string(), kind: z.string(), name: z.string(), uid: z.string(), controller: z.boolean() });
const anySubject = z.object({ kind: z.string(), namespace: z.string(), name: z.string() });

/** Members of a binding that the service controls. Other members are left alone. */
export interface ManagedMembers {
  metadata: {
    labels: Record<string, string>;
    annotations: Record<string, string>;
    ownerReferences: readonly z.output<typeof ownerReference>[];
  };
  subjects: readonly (Subject & { apiGroup: string })[];
}

export function managedMembers({ name, uid }: Owner, subjects: readonly Subject[]): ManagedMembers {
  return {
    metadata: {
      labels: { [bindingLabel]: bindingLabelValue(name) },
      annotations: { [bindingLabel]: name },
      ownerReferences: [{ apiVersion: userBindingApiVersion, kind: 'UserBinding', name, uid, controller: true }],
    },
    subjects: subjects.map((subject) => ({ apiGroup: group, ...subject })),
  };
}

/** @param namespace '' for a ClusterRoleBinding */
export const managedKind = (namespace: string): ResourceKind =>
  namespace === '' ? { type: clusterRoleBindings, kind: 'ClusterRoleBinding' } : { type: roleBindings, kind: 'RoleBinding', namespace };

/** @param namespace '' for a ClusterRoleBinding */
export function managedManifest(owner: Owner, namespace: string, { metadata, subjects }: ManagedMembers) {
  return {
    ...emptyManifest(owner.roleRef, namespace),
    metadata: { name: managedName(owner), ...(namespace !== '' && { namespace }), ...metadata },
    subjects,
  };
}

/** Returns a manifest that binds the role to no subject, with a generated name. */
export const emptyManifest = (roleRef: string, namespace: string) => ({
  apiVersion,
  kind: managedKind(namespace).kind,
  metadata: { generateName: 'ub-' },
  roleRef: { apiGroup: group, kind: 'ClusterRole', name: roleRef },
});

/** The cached part of a managed binding: a few short texts, independent of the number of subjects. */
export interface ManagedRow {
  readonly name: string;
  /** '' for a ClusterRoleBinding. */
  readonly namespace: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly label: string;
  readonly ownerUIDs: readonly string[];
  readonly role: string;
  /** See `digestOf`. */
  readonly digest: string;
}

/** Reads a binding, also one that other programs have changed. */
const readBinding = reader(
  z.object({
    metadata: z.object({ ownerReferences: z.array(ownerReference) }),
    roleRef: z.object({ kind: z.string(), name: z.string() }),
    subjects: z.array(anySubject),
  }),
);

export function managedRow(object: KubernetesObject): ManagedRow {
  const { metadata } = object;
  const { metadata: { ownerReferences: owners = [] } = {}, roleRef: role = {}, subjects = [] } = readBinding(object);
  const label = metadata.labels?.[bindingLabel] ?? '';
  const annotation = metadata.annotations?.[bindingLabel] ?? '';
  return {
    name: metadata.name,
    namespace: metadata.namespace ?? '',
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    label,
    ownerUIDs: owners.map(({ uid = '' }) => uid),
    role: `${role.kind ?? ''} ${role.name ?? ''}`,
    digest: digestOf({ label, annotation, owners, subjects }),
  };
}

/** Reports whether the binding was created for that UserBinding. Either of the two marks is enough. */
export const isManagedFor = ({ name, label, ownerUIDs }: Pick<ManagedRow, 'name' | 'label' | 'ownerUIDs'>, owner: Owner): boolean =>
  name === managedName(owner) && (ownerUIDs.includes(owner.uid) || label === bindingLabelValue(owner.name));

export const hasRole = ({ role }: Pick<ManagedRow, 'role'>, { roleRef }: Owner): boolean => role === `ClusterRole ${roleRef}`;

/** Returns a digest that is equal for bindings with equal controlled members. */
export const wantedDigest = ({ metadata, subjects }: ManagedMembers): string =>
  digestOf({
    label: metadata.labels[bindingLabel] ?? '',
    annotation: metadata.annotations[bindingLabel] ?? '',
    owners: metadata.ownerReferences,
    subjects,
  });

type AnySubject = Reading<z.output<typeof anySubject>>;

interface DigestParts {
  label: string;
  annotation: string;
  owners: readonly Reading<z.output<typeof ownerReference>>[];
  subjects: readonly AnySubject[];
}

function digestOf({ label, annotation, owners, subjects }: DigestParts): string {
  const owned = owners.map(({ kind, name, uid, controller }) => [kind, name, uid, controller === true].join(' ')).sort();
  const bound = subjects.map(subjectKey).sort();
  return hash('sha256', JSON.stringify([label, annotation, owned, bound]), 'base64url');
}

/** Returns the key of a subject, also of subjects that others have added. */
const subjectKey = ({ kind = '', namespace = '', name = '' }: AnySubject): string => `${kind} ${namespace} ${name}`;

/** Reports whether a binding has subjects beyond the wanted ones. */
export const hasMore = (object: KubernetesObject, members: ManagedMembers): boolean => {
  const wanted = new Set(members.subjects.map(subjectKey));
  return (readBinding(object).subjects ?? []).some((subject) => !wanted.has(subjectKey(subject)));
};

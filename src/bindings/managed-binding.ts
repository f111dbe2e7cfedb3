/** The RBAC bindings that are made for a UserBinding. */
import { hash } from 'node:crypto';
import { z } from 'zod';
import { type Reading, reader } from '../api/reader.ts';
import type { KubernetesObject, ResourceType } from '../kubernetes/resource.ts';
import type { ResourceKind } from '../kubernetes/resource-client.ts';
import { bindingLabel, bindingLabelValue, userBindingApiVersion } from './resource.ts';

const group = 'rbac.authorization.k8s.io';
const apiVersion = `${group}/v1`;

/** A user or group as Kubernetes sees it. */
export interface Subject {
  readonly kind: 'User' | 'Group';
  readonly name: string;
}

/** For which UserBinding. */
export interface Owner {
  readonly name: string;
  readonly uid: string;
  readonly roleRef: string;
}

export const roleBindings: ResourceType = { group, version: 'v1', resource: 'rolebindings' };
export const clusterRoleBindings: ResourceType = { group, version: 'v1', resource: 'clusterrolebindings' };

/** The same in every namespace. Of the uid: one that was made again under the name has nothing to do with what is left of the old one. */
export const managedName = ({ uid }: Pick<Owner, 'uid'>): string => `ub-${hash('sha256', uid).slice(0, 24)}`;

const ownerReference = z.object({ apiVersion: z.string(), kind: z.string(), name: z.string(), uid: z.string(), controller: z.boolean() });
const anySubject = z.object({ kind: z.string(), namespace: z.string(), name: z.string() });

/** What the service answers for on a binding; the rest is free. */
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

/** A binding of that role to no subject, under no name yet. */
export const emptyManifest = (roleRef: string, namespace: string) => ({
  apiVersion,
  kind: managedKind(namespace).kind,
  metadata: { generateName: 'ub-' },
  roleRef: { apiGroup: group, kind: 'ClusterRole', name: roleRef },
});

/** What is kept of a binding that was made: few and short texts, however many subjects it has. */
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

/** What is read of a binding, whatever another program has made of it. */
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

/** Whether it was made for that UserBinding. Both marks have to be taken off for it not to be ours. */
export const isManagedFor = ({ name, label, ownerUIDs }: Pick<ManagedRow, 'name' | 'label' | 'ownerUIDs'>, owner: Owner): boolean =>
  name === managedName(owner) && (ownerUIDs.includes(owner.uid) || label === bindingLabelValue(owner.name));

export const hasRole = ({ role }: Pick<ManagedRow, 'role'>, { roleRef }: Owner): boolean => role === `ClusterRole ${roleRef}`;

/** Equal for bindings that have equal members of ours. */
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

/** Also of subjects that others have put in. */
const subjectKey = ({ kind = '', namespace = '', name = '' }: AnySubject): string => `${kind} ${namespace} ${name}`;

/** Whom a binding names that must not be named. */
export const hasMore = (object: KubernetesObject, members: ManagedMembers): boolean => {
  const wanted = new Set(members.subjects.map(subjectKey));
  return (readBinding(object).subjects ?? []).some((subject) => !wanted.has(subjectKey(subject)));
};

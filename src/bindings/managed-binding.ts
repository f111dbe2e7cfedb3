/** The RBAC bindings that are made for a UserBinding. */
import { hash } from 'node:crypto';
import { isRecord, type KubernetesObject, type ResourceType } from '../kubernetes/resource.ts';
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

/** What the service answers for on a binding; the rest is free. */
export interface ManagedMembers {
  metadata: { labels: Record<string, string>; annotations: Record<string, string>; ownerReferences: object[] };
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
export function managedManifest(owner: Owner, namespace: string, members: ManagedMembers) {
  return {
    apiVersion,
    kind: namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding',
    metadata: { name: managedName(owner), ...(namespace !== '' && { namespace }), ...members.metadata },
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: owner.roleRef },
    subjects: members.subjects,
  };
}

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

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const records = (value: unknown): Record<string, unknown>[] => (Array.isArray(value) ? value.filter(isRecord) : []);

export function managedRow({ metadata, roleRef, subjects }: KubernetesObject): ManagedRow {
  const role = isRecord(roleRef) ? roleRef : {};
  const owners = records(metadata.ownerReferences);
  const label = metadata.labels?.[bindingLabel] ?? '';
  const annotation = metadata.annotations?.[bindingLabel] ?? '';
  return {
    name: metadata.name,
    namespace: metadata.namespace ?? '',
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    label,
    ownerUIDs: owners.map(({ uid }) => text(uid)),
    role: `${text(role.kind)} ${text(role.name)}`,
    digest: digestOf({ label, annotation, owners, subjects: records(subjects) }),
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
    owners: metadata.ownerReferences.filter(isRecord),
    subjects,
  });

interface AnySubject {
  kind?: unknown;
  namespace?: unknown;
  name?: unknown;
}

interface DigestParts {
  label: string;
  annotation: string;
  owners: readonly Record<string, unknown>[];
  subjects: readonly AnySubject[];
}

function digestOf({ label, annotation, owners, subjects }: DigestParts): string {
  const owned = owners.map(({ kind, name, uid, controller }) => [kind, name, uid, controller === true].join(' ')).sort();
  const bound = subjects.map(subjectKey).sort();
  return hash('sha256', JSON.stringify([label, annotation, owned, bound]), 'base64url');
}

/** Also of subjects that others have put in. */
const subjectKey = ({ kind, namespace, name }: AnySubject): string => `${text(kind)} ${text(namespace)} ${text(name)}`;

/** Whom a binding names that must not be named. */
export const hasMore = ({ subjects }: KubernetesObject, members: ManagedMembers): boolean => {
  const wanted = new Set(members.subjects.map(subjectKey));
  return records(subjects).some((subject) => !wanted.has(subjectKey(subject)));
};

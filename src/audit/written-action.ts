/** Actions of writes, which their bodies tell. A body that does anything else, too, tells nothing: an event must not hide a change. */
import type { AuditEvent } from '@atrium/audit-store/event.ts';
import { debugConnection } from '@atrium/kubernetes/opened-connection.ts';
import type { RoleBinding } from '@atrium/kubernetes/rbac/role-bindings.ts';
import type { RbacWatch } from '@atrium/kubernetes/rbac/watch.ts';
import { jsonPatchType, mergePatchTypes } from '@atrium/objects/json-patch.ts';
import { z } from 'zod';

/** Verb and object of a request. */
interface About {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  /** Empty for a list or a creation. */
  readonly name: string;
  readonly namespace?: string;
}

/** Facts of an event that the body of its request tells. */
export type Told = Pick<AuditEvent, 'action' | 'changes' | 'grant' | 'connection'>;

type Path = readonly string[];

/** A field that a patch sets, or removes with null. */
interface Field {
  path: Path;
  value: unknown;
}

interface Rule {
  action: string;
  /** Undefined for all resources. */
  of?: readonly string[];
  sets: (field: Field) => boolean;
}

/** Fields that name the object, and change nothing. */
const identity = ['apiVersion', 'kind', 'metadata.name', 'metadata.namespace', 'metadata.uid', 'metadata.resourceVersion'];
/** Depth of the longest path of a rule. */
const maxDepth = 6;
/** Subjects and namespaces of a binding that an event names. */
const maxSubjects = 16;

const scaled = ['deployments.apps', 'statefulsets.apps', 'replicasets.apps', 'replicationcontrollers'];
const suspended = ['cronjobs.batch', 'jobs.batch'];
const roleBindings = ['rolebindings.rbac.authorization.k8s.io', 'clusterrolebindings.rbac.authorization.k8s.io'];
const userBindings = 'userbindings.auth.platform.io';
const bindings = [...roleBindings, userBindings];
const certificateRequests = 'certificatesigningrequests.certificates.k8s.io';

const at =
  (...path: string[]) =>
  (field: Field): boolean =>
    field.path.length === path.length && isBelow(...path)(field);
const isBelow =
  (...path: string[]) =>
  (field: Field): boolean =>
    path.every((name, index) => field.path[index] === name);
const isOff = (value: unknown): boolean => value === false || value === null;

const restarted = at('spec', 'template', 'metadata', 'annotations', 'kubectl.kubernetes.io/restartedAt');

/** The closed set of the actions of patches. */
const rules: readonly Rule[] = [
  { action: 'label', sets: isBelow('metadata', 'labels') },
  { action: 'annotate', sets: isBelow('metadata', 'annotations') },
  {
    action: 'restart',
    of: ['deployments.apps', 'statefulsets.apps', 'daemonsets.apps'],
    sets: (field) => restarted(field) && typeof field.value === 'string',
  },
  { action: 'scale', of: scaled, sets: (field) => at('spec', 'replicas')(field) && Number.isInteger(field.value) },
  { action: 'pause', of: ['deployments.apps'], sets: (field) => at('spec', 'paused')(field) && field.value === true },
  { action: 'resume', of: ['deployments.apps'], sets: (field) => at('spec', 'paused')(field) && isOff(field.value) },
  { action: 'suspend', of: suspended, sets: (field) => at('spec', 'suspend')(field) && field.value === true },
  { action: 'resume', of: suspended, sets: (field) => at('spec', 'suspend')(field) && isOff(field.value) },
  { action: 'cordon', of: ['nodes'], sets: (field) => at('spec', 'unschedulable')(field) && field.value === true },
  { action: 'uncordon', of: ['nodes'], sets: (field) => at('spec', 'unschedulable')(field) && isOff(field.value) },
];

const resourceOf = ({ group, resource }: About): string => (group === '' ? resource : `${resource}.${group}`);

const isGrant = (about: About): boolean => about.verb === 'create' && about.subresource === '' && bindings.includes(resourceOf(about));
const isApproval = (about: About): boolean => about.subresource === 'approval' && resourceOf(about) === certificateRequests;
const isDebug = (about: About): boolean =>
  about.verb === 'patch' && about.subresource === 'ephemeralcontainers' && resourceOf(about) === 'pods';

/** Reports whether the body of a request may tell a fact. */
export const mayTell = (about: About): boolean =>
  (about.verb === 'patch' && about.subresource === '' && about.name !== '') || isGrant(about) || isApproval(about) || isDebug(about);

/** Reports whether the answer to a request tells the facts of its body, which may be in another format than JSON. */
export const isToldByAnswer = (about: About): boolean => isGrant(about) || isApproval(about);

/**
 * Returns the role that a binding gave before a request that takes or changes it, which neither the request nor the answer tells.
 *
 * @param bindings those of the cluster, as they were last seen
 */
export function grantBefore(about: About, bindings: Bindings): Grant | undefined {
  const { verb, subresource, name, namespace = '' } = about;
  if (!['delete', 'patch', 'update'].includes(verb) || subresource !== '' || name === '') return undefined;
  const resource = resourceOf(about);
  if (resource === userBindings) return grantOfAll([...bindings.allBindings()].filter(({ userBinding }) => userBinding === name));
  const found = roleBindings.includes(resource) ? bindings.binding(namespace, name) : undefined;
  return found && grantOfAll([found]);
}

type Grant = NonNullable<AuditEvent['grant']>;

/** Bindings of the cluster. */
type Bindings = Pick<RbacWatch, 'allBindings' | 'binding'>;

/** Returns the role of bindings that give one role to the same subjects, each in another namespace. */
function grantOfAll(bindings: readonly RoleBinding[]): Grant | undefined {
  const [first] = bindings;
  if (first === undefined) return undefined;
  const namespaces = first.userBinding === undefined ? [] : bindings.flatMap(({ namespace }) => namespace || []).slice(0, maxSubjects);
  const subjects = first.subjects.slice(0, maxSubjects).map(({ kind, name }) => `${kind}/${name}`);
  return { role: `${first.role.kind}/${first.role.name}`, subjects, ...(namespaces.length > 0 && { namespaces }) };
}

/** Returns the facts that a body tells. */
export function toldBy(about: About, mediaType: string, body: unknown): Told {
  if (isGrant(about)) return grantIn(body);
  if (isApproval(about)) return decisionIn(body);
  if (isDebug(about)) return debugIn(fieldsOf(mediaType, body));
  const fields = fieldsOf(mediaType, body).filter(({ path }) => !identity.includes(path.join('.')));
  const rule = rules.find(({ of, sets }) => (of?.includes(resourceOf(about)) ?? true) && fields.length > 0 && fields.every(sets));
  if (rule?.action !== 'scale') return rule ? { action: rule.action } : {};
  return { action: 'scale', changes: [{ field: 'spec.replicas', to: Number(fields.at(-1)?.value) }] };
}

const operations = z.array(z.object({ op: z.string(), path: z.string(), value: z.unknown() }));

/** Returns the fields that a patch changes. */
function fieldsOf(mediaType: string, body: unknown): Field[] {
  if (mergePatchTypes.some((type) => type === mediaType)) return fieldsIn(body);
  if (mediaType !== jsonPatchType) return [];
  return (operations.safeParse(body).data ?? [])
    .filter(({ op }) => op !== 'test')
    .map(({ op, path, value }) => ({
      path: ['add', 'replace', 'remove'].includes(op) ? path.split('/').slice(1).map(unescaped) : [],
      value: op === 'remove' ? null : value,
    }));
}

/** @see RFC 6901 */
const unescaped = (token: string): string => token.replaceAll('~1', '/').replaceAll('~0', '~');

function fieldsIn(value: unknown, path: Path = []): Field[] {
  if (value === null || typeof value !== 'object' || Array.isArray(value) || path.length === maxDepth) return [{ path, value }];
  const members = Object.entries(value);
  return members.length === 0 ? [{ path, value }] : members.flatMap(([name, member]) => fieldsIn(member, [...path, name]));
}

const subject = z.object({ kind: z.string(), name: z.string(), namespace: z.string().optional() });
const roleBinding = z.object({ roleRef: z.object({ kind: z.string(), name: z.string() }), subjects: z.array(subject).default([]) });
const userBinding = z.object({
  spec: z.object({
    roleRef: z.string(),
    subjects: z.array(subject),
    constraint: z.array(z.object({ namespace: z.string().optional() })).default([]),
    expiresAt: z.string().optional(),
  }),
});

const subjectText = ({ kind, name, namespace }: z.output<typeof subject>): string =>
  [kind, ...(namespace ? [namespace] : []), name].join('/');

const changedSubjects = z.object({ subjects: z.array(subject).optional(), spec: z.object({ subjects: z.array(subject) }).optional() });

/** Returns the subjects that the body of a change of a binding names. */
function subjectsIn(mediaType: string, body: unknown): string[] {
  if (mediaType !== jsonPatchType) {
    const { subjects, spec } = changedSubjects.safeParse(body).data ?? {};
    return (subjects ?? spec?.subjects ?? []).map(subjectText);
  }
  const values = fieldsOf(mediaType, body).flatMap(({ value }) => value);
  return values.flatMap((value) => subject.safeParse(value).data ?? []).map(subjectText);
}

/** Returns the role of a binding with the subjects that a change names: first those that it adds, then those that it may take. */
export function grantAfter(before: Grant, mediaType: string, body: unknown): Grant {
  const named = subjectsIn(mediaType, body);
  const added = named.filter((one) => !before.subjects.includes(one));
  const missing = before.subjects.filter((one) => !named.includes(one));
  return { ...before, subjects: [...new Set([...added, ...missing, ...before.subjects])].slice(0, maxSubjects) };
}

function grantIn(body: unknown): Told {
  const [rbac, own] = [roleBinding.safeParse(body).data, userBinding.safeParse(body).data?.spec];
  const role = rbac ? `${rbac.roleRef.kind}/${rbac.roleRef.name}` : own && `ClusterRole/${own.roleRef}`;
  if (role === undefined) return { action: 'grant' };
  const subjects = (rbac?.subjects ?? own?.subjects ?? []).slice(0, maxSubjects).map(subjectText);
  const namespaces = own?.constraint.flatMap(({ namespace }) => namespace ?? []).slice(0, maxSubjects) ?? [];
  return {
    action: 'grant',
    grant: { role, subjects, ...(namespaces.length > 0 && { namespaces }), ...(own?.expiresAt !== undefined && { until: own.expiresAt }) },
  };
}

const certificateRequest = z.object({ status: z.object({ conditions: z.array(z.object({ type: z.string() })) }) });

function decisionIn(body: unknown): Told {
  const { conditions = [] } = certificateRequest.safeParse(body).data?.status ?? {};
  const types = conditions.map(({ type }) => type).filter((type) => type === 'Approved' || type === 'Denied');
  if (types.length !== 1) return {};
  return { action: types[0] === 'Approved' ? 'approve' : 'deny' };
}

const words = z.array(z.string()).default([]);
const debugContainer = z.object({ name: z.string(), image: z.string(), command: words, args: words, tty: z.boolean().default(false) });

/** Returns the one debug container that a patch adds. */
function debugIn(fields: readonly Field[]): Told {
  const added = fields.filter(isBelow('spec', 'ephemeralContainers')).flatMap(({ value }) => value);
  const container = debugContainer.safeParse(added[0]).data;
  if (container === undefined || added.length > 1) return {};
  return { connection: debugConnection({ ...container, command: [...container.command, ...container.args] }) };
}

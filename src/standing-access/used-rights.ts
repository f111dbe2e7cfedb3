/** Rights of which events are a use. An event of the service often has another verb and resource than the right that it took. */
import type { AuditEvent } from '@atrium/audit-store/event.ts';
import type { AuditFilter } from '@atrium/audit-store/store.ts';
import { isAboutResource, type PolicyRule, ruleAllows } from '@atrium/kubernetes/rbac/rules.ts';
import { placeOf } from '@atrium/kubernetes/request-target.ts';
import { type AuditAction, auditEvents, type EventRights } from '../audit/audit-events.ts';

const apiGroup = 'auth.platform.io';

interface UsedResource {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  /** '' for a right to the whole cluster. */
  readonly namespace: string;
  /** Undefined if the event does not tell it. */
  readonly name: string | undefined;
}

/** A right that was used. */
export type UsedRight = UsedResource | { readonly verb: string; readonly path: string; readonly namespace: '' };

const declared: Readonly<Record<string, { readonly when: string; readonly action?: string; readonly rights?: EventRights }>> = auditEvents;

const rightsOf = (event: string): EventRights => declared[event]?.rights ?? [];

/** Returns the rights of its user that an event is a use of. @param namespace namespace of the service, which has its sessions */
export function usedRights(event: AuditEvent, namespace: string): readonly UsedRight[] {
  if (event.source !== 'service') return [requestOf(event)];
  const rights = rightsOf(event.event ?? '');
  if (rights === 'write') return [requestOf(event)];
  if (rights === 'review') return reviewRights(event);
  if (rights === 'impersonation') return [impersonationOf(event.objectRef.name ?? '')];
  return rights.filter((right) => isOfView(right, event)).map((right) => rightOf(right, event, namespace));
}

/** Reports whether a question about the audit took the right: its view tells whether it was a list of recordings. */
const isOfView = (right: AuditAction, { event, question }: AuditEvent): boolean =>
  event !== 'AuditRead' || (right === 'list recordings') === (new URLSearchParams(question).get('view') === 'Recordings');

function impersonationOf(user: string): UsedRight {
  const [, namespace = '', account] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(user) ?? [];
  const target = account === undefined ? { resource: 'users', name: user } : { resource: 'serviceaccounts', name: account };
  return { verb: 'impersonate', group: '', subresource: '', namespace, ...target };
}

function requestOf({ verb, objectRef }: AuditEvent): UsedRight {
  const { apiGroup: group, resource, subresource = '', namespace = '', name = '' } = objectRef;
  return { verb, group, resource, subresource, namespace: placeOf({ group, resource, namespace, name }), name };
}

type NamedEvent = Pick<AuditEvent, 'question'> & { objectRef: Pick<AuditEvent['objectRef'], 'resource' | 'namespace' | 'name'> };

function rightOf(right: AuditAction, { objectRef, question }: NamedEvent, serviceNamespace: string): UsedRight {
  const [verb = '', what = ''] = right.split(' ');
  if (what.startsWith('/')) return { verb, path: what, namespace: '' };
  const [resource = '', subresource = ''] = what.split('/');
  const places: Partial<Record<string, string | null>> = {
    sessions: serviceNamespace,
    audits: new URLSearchParams(question).get('namespace'),
    recordings: new URLSearchParams(question).get('namespace'),
  };
  // The name of a session or token is not that of the event, which is about its user.
  const name = resource === objectRef.resource ? (objectRef.name ?? '') : undefined;
  return { verb, group: apiGroup, resource, subresource, namespace: places[resource] ?? objectRef.namespace ?? '', name };
}

const rbac = { group: 'rbac.authorization.k8s.io', subresource: '' };

/** Keeping a binding takes the right to update it; its end may be that of its UserBinding. */
function reviewRights({ binding = '', reason }: Pick<AuditEvent, 'binding' | 'reason'>): UsedResource[] {
  const parts = binding.split('/');
  const [kind, place = '', name = ''] = parts.length === 2 ? [parts[0], '', parts[1]] : parts;
  const resource = kind === 'RoleBinding' ? 'rolebindings' : 'clusterrolebindings';
  const verb = reason === 'Ended' ? 'delete' : 'update';
  const owner = { verb: verb === 'delete' ? verb : 'patch', group: apiGroup, resource: 'userbindings', subresource: '', namespace: '' };
  return [{ ...rbac, verb, resource, namespace: place, name }, ...(reason === 'Kept' ? [] : [{ ...owner, name: undefined }])];
}

/** Reports whether a rule gives a used right. A name that is not known may be any. */
export function givesRight(rule: PolicyRule, right: UsedRight): boolean {
  if ('path' in right) return ruleAllows(rule, right);
  const { name } = right;
  return name === undefined ? isAboutResource(rule, right) : ruleAllows(rule, { ...right, name });
}

/** Condition of a store. */
type Line = NonNullable<AuditFilter['anyOf']>[number];

/**
 * Returns conditions for the events of the service that may be uses of the rules, and that have another place or resource.
 *
 * @param place namespace of the binding, '' for the cluster
 * @param namespace namespace of the service
 */
export function eventLines(rules: readonly PolicyRule[], place: string, namespace: string): (Line & { event: string; resource: string })[] {
  return Object.entries(declared).flatMap(([event, { action = '' }]) => {
    const rights = possibleRights(rightsOf(event), place, namespace);
    const isUse = rights.some((right) => rules.some((rule) => givesRight(rule, right)));
    return isUse ? [{ event, apiGroup, resource: action.split(' ')[1]?.split('/')[0] ?? '' }] : [];
  });
}

/** Returns the rights in a place of which an event may be a use, for all names. The object of a `write` is that of the right. */
function possibleRights(rights: EventRights, place: string, namespace: string): UsedRight[] {
  const found = allRights(rights, place, namespace).filter((right) => place === '' || right.namespace === place);
  return found.map((right) => ('path' in right ? right : { ...right, name: undefined }));
}

function allRights(rights: EventRights, place: string, namespace: string): UsedRight[] {
  if (rights === 'write') return [];
  if (rights === 'impersonation') return ['any', `system:serviceaccount:${place || 'any'}:any`].map(impersonationOf);
  if (rights === 'review')
    return [`RoleBinding/${place || 'any'}/any`, 'ClusterRoleBinding/any'].flatMap((binding) =>
      ['Kept', 'Ended', 'Shortened'].flatMap((reason) => reviewRights({ binding, reason })),
    );
  return rights.map((right) => rightOf(right, { objectRef: { resource: '' }, question: `namespace=${place}` }, namespace));
}

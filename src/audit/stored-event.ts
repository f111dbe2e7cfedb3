import { randomUUID } from 'node:crypto';
import type { AuditEvent as StoredEvent } from '@atrium/audit-store/event.ts';
import { takeWriteID } from '@atrium/http/sent-writes.ts';
import { placeOf } from '@atrium/kubernetes/request-target.ts';
import { localCluster } from '@atrium/objects/object-schemas.ts';
import type { AuditPolicy } from '../config/audit-policy.ts';
import type { AuditEvent, Occasion } from './audit.ts';
import { type AuditAction, type AuditName, auditEvents } from './audit-events.ts';
import { keepsBody } from './audit-policy.ts';

const apiGroup = 'auth.platform.io';

/** Events by which a user gets a role. */
const grants: readonly AuditName[] = ['AccessGranted', 'BreakGlassUsed', 'UserBindingCreated'];

/** Returns a function that hands events of the service to the audit store. */
export const storing =
  (intake: { record(event: StoredEvent): void }, policy: AuditPolicy | undefined) =>
  (event: AuditEvent, occasion: Occasion): void => {
    const stored = storedEvent(event, occasion);
    if (stored) intake.record({ ...stored, ...bodyOf(event, stored, policy) });
  };

/** Returns the body of a write, where the policy keeps it. */
function bodyOf(
  { body, patchType, actor, groups = [] }: AuditEvent,
  { verb, objectRef: { apiGroup: group, resource, namespace = '', name = '' } }: StoredEvent,
  policy: AuditPolicy | undefined,
): Pick<StoredEvent, 'requestObject' | 'patchType'> {
  const request = { user: actor?.name ?? '', groups, verb, group, resource, subresource: '', namespace, name };
  const requestObject = keepsBody(policy, request) ? body?.() : undefined;
  if (requestObject === undefined) return {};
  return { requestObject, ...(patchType !== undefined && { patchType }) };
}

/** Returns the event as the audit store keeps it; undefined for an event that the store gets from another place. */
function storedEvent(event: AuditEvent, { time, traceID }: Occasion): StoredEvent | undefined {
  const { audit, actor, outcome, code, reason, issuer, source, userAgent, requestId } = event;
  const { action, write: effect }: { readonly when: string; readonly action?: AuditAction; readonly write?: AuditAction } =
    auditEvents[audit];
  const about = aboutOf(event, action);
  if (about === undefined) return undefined;
  const isGrant = grants.includes(audit) && outcome === 'success';
  return {
    ...idOf(event, effect, action),
    cluster: localCluster,
    source: 'service',
    event: audit,
    ...about,
    ...(isGrant && { action: 'grant' }),
    ...(actor?.name && { user: storedUser({ ...actor, groups: event.groups }) }),
    sourceIPs: source === undefined ? [] : [source],
    ...(userAgent !== undefined && { userAgent }),
    requestReceivedTimestamp: time.toISOString(),
    outcome,
    ...(code !== undefined && { responseStatus: { code } }),
    ...(reason !== undefined && { reason }),
    ...(event.bodyBytes !== undefined && !event.hasCredential?.() && { requestBytes: event.bodyBytes }),
    ...(requestId !== undefined && { requestID: requestId }),
    ...(traceID !== undefined && { traceID }),
    ...(event.inSession !== undefined && { session: event.inSession }),
    ...(event.accessToken !== undefined && { accessToken: event.accessToken }),
    ...(issuer !== undefined && { issuer }),
    ...ownMembers(event),
  };
}

/** Returns the verb and the object of an event; undefined for an event that the store does not keep. */
function aboutOf(event: AuditEvent, action: AuditAction | undefined): Pick<StoredEvent, 'verb' | 'objectRef'> | undefined {
  const { write, denied, namespace, target } = event;
  if (denied) return { verb: denied.verb, objectRef: objectOf({ ...denied, apiGroup: denied.group }) };
  if (action === undefined) return undefined;
  if (write) return { verb: write.verb, objectRef: objectOf(write) };
  const [verb = '', path = ''] = action.split(' ');
  const [resource = '', subresource] = path.split('/');
  return { verb, objectRef: objectOf({ apiGroup, resource, subresource, namespace, name: target?.name }) };
}

/** Returns the members that single actions have. */
const ownMembers = ({ members, access, binding, grant, question, agent, shell, workload, write }: AuditEvent): Partial<StoredEvent> => ({
  ...(access && { access: storedAccess(access) }),
  ...(binding !== undefined && { binding }),
  ...(grant && { grant: storedGrant(grant) }),
  ...(question !== undefined && { question }),
  ...(shell && { shell: { ...shell } }),
  ...(workload !== undefined && { workload }),
  ...(write?.action !== undefined && { action: write.action }),
  ...(write?.changes && { changes: [...write.changes] }),
  ...(agent && { agent: { ...agent, objects: [...agent.objects] } }),
  ...(members && { members: { ...members, names: [...members.names] } }),
});

/** Returns the id with which the API server got the write of the event, and the write if it differs from the action; otherwise a new id. */
function idOf(
  { target, write, outcome }: AuditEvent,
  effect: AuditAction | undefined,
  action: AuditAction | undefined,
): Pick<StoredEvent, 'auditID' | 'write'> {
  const name = write?.name ?? target?.name;
  const call = write ? `${write.verb} ${write.resource}` : (effect ?? action ?? '');
  const id = name !== undefined && outcome === 'success' ? takeWriteID(call, name) : undefined;
  if (id === undefined) return { auditID: randomUUID() };
  return { auditID: id, ...(write === undefined && effect !== undefined && { write: effect }) };
}

/** Returns an object in its place. Like the API server, the service takes a namespace as an object within itself. */
function objectOf({ apiGroup, resource, subresource, name, ...given }: ObjectNames): StoredEvent['objectRef'] {
  const namespace = placeOf({ group: apiGroup, resource, namespace: given.namespace ?? '', name: name ?? '' });
  return { apiGroup, resource, ...(subresource && { subresource }), ...(namespace && { namespace }), ...(name && { name }) };
}

interface ObjectNames {
  readonly apiGroup: string;
  readonly resource: string;
  readonly subresource?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

/** Groups of an event. Providers put some users into hundreds. */
const maxGroups = 16;

/** Groups that follow from the name of the user. */
const isImplied = (group: string): boolean => group === 'system:authenticated' || group.startsWith('system:serviceaccounts');

/** Returns the user of an event. */
export function storedUser({ name, uid, groups = [] }: StoredIdentity): NonNullable<StoredEvent['user']> {
  const told = groups.filter((group) => !isImplied(group)).slice(0, maxGroups);
  return { username: name, ...(uid && { uid }), ...(told.length > 0 && { groups: told }) };
}

interface StoredIdentity {
  name: string;
  uid: string;
  groups?: readonly string[] | undefined;
}

const storedGrant = ({ subjects, namespaces, ...grant }: NonNullable<AuditEvent['grant']>): StoredEvent['grant'] => ({
  ...grant,
  subjects: [...subjects],
  ...(namespaces && { namespaces: [...namespaces] }),
});

/** Returns a copy that a store may keep. */
const storedAccess = ({ namespaces, ...access }: NonNullable<AuditEvent['access']>): StoredEvent['access'] => ({
  ...access,
  ...(namespaces && { namespaces: [...namespaces] }),
});

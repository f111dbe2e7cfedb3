/** Events of a kube-apiserver (audit.k8s.io/v1) as the store keeps them. */
import { hash } from 'node:crypto';
import type { AuditEvent } from '@atrium/audit-store/event.ts';
import { type ApiServerEvent, ownWriteMark } from '@atrium/audit-store/store.ts';
import { doorIDOf } from '@atrium/kubernetes/audit-id.ts';
import { isDryRun } from '@atrium/kubernetes/dry-run.ts';
import { connectionOf, runningSubresources } from '@atrium/kubernetes/opened-connection.ts';
import { localCluster } from '@atrium/objects/object-schemas.ts';
import { z } from 'zod';
import { storedUser } from '../audit/stored-event.ts';

const maxTextLength = 512;
const maxAddresses = 4;
/** A batch has 400 events, unless a flag of the API server says otherwise. */
const maxEvents = 10_000;

const text = () => z.string().transform((value) => value.slice(0, maxTextLength));

/** Members that are read. Bodies are never kept. */
const event = z.object({
  auditID: text(),
  stage: z.string(),
  requestURI: z.string(),
  verb: text(),
  user: z.object({ username: text().optional(), uid: text().default(''), groups: z.array(text()).default([]) }).prefault({}),
  impersonatedUser: z.object({ username: text().optional() }).optional(),
  sourceIPs: z.array(text()).default([]),
  userAgent: text().optional(),
  objectRef: z
    .object({
      apiGroup: text().default(''),
      resource: text().optional(),
      subresource: text().optional(),
      namespace: text().optional(),
      name: text().optional(),
    })
    .optional(),
  responseStatus: z.object({ code: z.int().optional() }).optional(),
  requestReceivedTimestamp: z.iso.datetime(),
  stageTimestamp: z.iso.datetime(),
  annotations: z.record(z.string(), z.string()).optional(),
  requestObject: z.unknown().optional(),
});

type ReceivedEvent = z.output<typeof event>;

/** @see https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/#audit-k8s-io-v1-EventList */
export const eventList = z.object({
  apiVersion: z.literal('audit.k8s.io/v1'),
  kind: z.literal('EventList'),
  items: z.array(event).max(maxEvents),
});

/** Returns the events that are kept: like at the door, writes, connections and reads of Secrets, once they are over. */
export const keptEvents = (events: readonly ReceivedEvent[]): ApiServerEvent[] => events.filter(isKept).map(storedEvent);

const lastStages = ['ResponseComplete', 'Panic'];
const reads = ['get', 'list', 'watch'];

function isKept(event: ReceivedEvent): boolean {
  const { stage, verb, objectRef } = event;
  const { apiGroup, resource, subresource = '' } = objectRef ?? {};
  if (resource === undefined || !lastStages.includes(stage)) return false;
  if (reads.includes(verb)) return runningSubresources.includes(subresource) || (apiGroup === '' && resource === 'secrets');
  const isReview = resource.endsWith('reviews') && (apiGroup === 'authentication.k8s.io' || apiGroup === 'authorization.k8s.io');
  return !isReview && !isRenewal(event);
}

/** Users of parts of the cluster. The administrator of k3s is `system:admin`. */
const componentUser = /^system:(?!admin$|anonymous$)/;
/** Lease with the checkpoints, whose change is never a mere renewal. */
const checkpointLease = 'atrium-audit';

/** Reports a renewal of a Lease, which nodes and holders of locks send each few seconds: an update that succeeds (client-go, kubelet). */
function isRenewal({ verb, user: { username = '' }, objectRef, responseStatus }: ReceivedEvent): boolean {
  const isRenewable = isLease(objectRef) && objectRef?.name !== checkpointLease;
  return isRenewable && verb === 'update' && componentUser.test(username) && (responseStatus?.code ?? 500) < 400;
}

const isLease = (object: ReceivedEvent['objectRef']): boolean => object?.apiGroup === 'coordination.k8s.io' && object.resource === 'leases';

/** Reports whether an account of the service made the request as itself. */
const isByService = (accounts: readonly string[], { user, impersonatedUser }: AuditEvent): boolean =>
  accounts.includes(user?.username ?? '') && impersonatedUser === undefined;

/** Reports whether an account of the service, as itself, has kept checkpoints: an event of each would be a reason for the next one. */
export const isOwnCheckpoint =
  (accounts: readonly string[]) =>
  ({ event }: ApiServerEvent): boolean => {
    const isOfCheckpoints = isLease(event.objectRef) && event.objectRef.name === checkpointLease;
    return isOfCheckpoints && isByService(accounts, event) && event.verb === 'update' && event.outcome === 'success';
  };

/**
 * Returns the event without the id of an event of the service, unless an account of the service made the request as itself: the users of
 * both events differ then. A sender past the doors may choose any id.
 */
export const joinableBy =
  (accounts: readonly string[]) =>
  (told: ApiServerEvent): ApiServerEvent =>
    isByService(accounts, told.event) || !told.doorID?.startsWith(ownWriteMark) ? told : { event: told.event };

/** Annotations of the authorizer. */
const annotationNames = ['authorization.k8s.io/decision', 'authorization.k8s.io/reason'];

function storedEvent(received: ReceivedEvent): ApiServerEvent {
  const { auditID, stage, requestURI, verb, user, impersonatedUser, objectRef, requestReceivedTimestamp, stageTimestamp } = received;
  const { resource = '', apiGroup = '', subresource, namespace, name } = objectRef ?? {};
  const search = requestURI.includes('?') ? requestURI.slice(requestURI.indexOf('?')) : '';
  const connection = connectionOf(subresource, search);
  const code = received.responseStatus?.code ?? (stage === 'Panic' ? 500 : 200);
  const annotations = annotationNames.flatMap((key) => {
    const value = received.annotations?.[key];
    return value ? [[key, value.slice(0, maxTextLength)] as const] : [];
  });
  // Senders choose the id of their events, also one that another event has.
  const identity = [auditID, stage, requestURI, verb, user.username, requestReceivedTimestamp, stageTimestamp];
  const kept: AuditEvent = {
    auditID: hash('sha256', JSON.stringify(identity)).slice(0, 32),
    ...{ cluster: localCluster, source: 'kube-apiserver', verb },
    ...(user.username && { user: storedUser({ name: user.username, uid: user.uid, groups: user.groups }) }),
    ...(impersonatedUser?.username && { impersonatedUser: { username: impersonatedUser.username } }),
    sourceIPs: received.sourceIPs.slice(0, maxAddresses),
    ...(received.userAgent && { userAgent: received.userAgent }),
    objectRef: { apiGroup, resource, ...(subresource && { subresource }), ...(namespace && { namespace }), ...(name && { name }) },
    ...(connection && { stage: 'ResponseComplete', connection }),
    requestReceivedTimestamp: new Date(requestReceivedTimestamp).toISOString(),
    milliseconds: Math.max(0, Date.parse(stageTimestamp) - Date.parse(requestReceivedTimestamp)),
    outcome: code < 400 ? 'success' : 'failure',
    responseStatus: { code },
    // A deletion whose body is not told may have had an effect.
    ...(isDryRun({ verb, resource, subresource: subresource ?? '' }, search, received.requestObject ?? null) && { dryRun: true }),
    requestID: auditID,
    ...(annotations.length > 0 && { annotations: Object.fromEntries(annotations) }),
  };
  return { event: kept, doorID: doorIDOf(auditID) };
}

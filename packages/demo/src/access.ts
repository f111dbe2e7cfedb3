/** Access for a while in the demo: who may ask for it, a request that waits, and two whose access has ended. */
import type { KubernetesObject } from '@atrium/embedded-cluster/objects.ts';
import { recordName } from './objects.ts';

const [ada, vera, priya, noa] = ['admin@example.com', 'viewer@example.com', 'priya@example.com', 'nobody@example.com'];
const apiVersion = 'auth.platform.io/v1';
const rbac = 'rbac.authorization.k8s.io';
const role = 'edit';
const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000];

/** Names of the requests by their requester. */
export const demoRequests = { vera: 'areq-7a1c5e90b2d34f86', noa: 'areq-b81f26d09c4e7a35', priya: 'areq-3d8f60a4c7e1b259' } as const;

/** Lets Vera and Priya ask for `edit` in the shop. Ada and Max decide. */
export const demoAccessPolicy: KubernetesObject = {
  ...{ apiVersion, kind: 'AccessPolicy' },
  metadata: { name: 'shop-edit' },
  spec: {
    displayName: 'Edit the shop for a while',
    subjects: [vera, priya].map((name) => ({ kind: 'User', name })),
    roleRefs: [role],
    scope: { namespaces: { names: ['shop'] } },
    maxSeconds: 8 * 3600,
    approvals: 1,
    approvers: [ada, 'manager@example.com'].map((name) => ({ kind: 'User', name })),
  },
};

/** Binds a group that nobody is in any more. */
const forgottenBinding: KubernetesObject = {
  ...{ apiVersion: `${rbac}/v1`, kind: 'RoleBinding' },
  metadata: { name: 'contractors', namespace: 'shop' },
  roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: role },
  subjects: [{ apiGroup: rbac, kind: 'Group', name: 'contractors' }],
};

/** Binds cluster-admin to a user who has left. The binding is older than the days in which uses are looked for. */
export const demoUnusedBinding = {
  madeBy: ada,
  madeAt: (now: Date) => new Date(now.getTime() - 200 * dayMs),
  object: {
    ...{ apiVersion: `${rbac}/v1`, kind: 'ClusterRoleBinding' },
    metadata: { name: 'migration' },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ apiGroup: rbac, kind: 'User', name: 'olaf@example.com' }],
  } as KubernetesObject,
};

/** Asks the owners of the shop each 90 days which of its bindings are still needed. */
const bindingReview: KubernetesObject = {
  ...{ apiVersion, kind: 'BindingReview' },
  metadata: { name: 'shop' },
  spec: { namespace: 'shop', everySeconds: 90 * 86_400, answerSeconds: 14 * 86_400, unanswered: 'End' },
};

export const demoReview: readonly KubernetesObject[] = [forgottenBinding, bindingReview];

type Find = (key: KubernetesObject) => KubernetesObject | undefined;

interface PastRequest {
  request: KubernetesObject;
  /** Each status that the service would have written, with its time. */
  history: { time: Date; status: NonNullable<KubernetesObject['status']> }[];
}

/** Returns the time of a Tuesday that is two to eight days ago, which no page takes for the last 24 hours. */
function onTuesday(now: Date, hours: number): Date {
  const back = (now.getUTCDay() + 5) % 7;
  const midnight = now.getTime() - (now.getTime() % dayMs);
  return new Date(midnight - (back < 2 ? back + 7 : back) * dayMs + hours * hourMs);
}

/** Returns the requests whose access has ended. */
export function endedRequests(now: Date) {
  const before = (minutes: number) => new Date(now.getTime() - minutes * minuteMs);
  return [
    {
      ...{ name: demoRequests.noa, requester: noa, asked: onTuesday(now, 9), begin: onTuesday(now, 9.25), until: onTuesday(now, 13.25) },
      reason: 'Vera is away: the prices of the week have to go live',
      comment: 'Until the afternoon',
    },
    {
      ...{ name: demoRequests.vera, requester: vera, asked: before(190), begin: before(184), until: before(124) },
      reason: 'Old prices after the sale: the storefront needs a restart',
      comment: 'Until the new prices are live',
    },
  ] as const;
}

const written = (time: Date) => time.toISOString().replace(/\.\d+Z$/, 'Z');

/** Mails that a demo with a mail server does not send again. */
const mailed = (time: Date, ...events: string[]) => ({
  notices: events.map((event) => ({ event: `mail-${event}-1`, time: written(time), outcome: 'Sent' })),
});

/** Returns the requests of the demo: two have ended at their times, one waits. */
export function demoAccessRequests(now: Date, find: Find): PastRequest[] {
  const asked = new Date(now.getTime() - 12 * minuteMs);
  const waiting = {
    name: demoRequests.priya,
    requester: priya,
    reason: 'The cart loses items: its memory limit is too low',
    seconds: 3600,
  };
  return [
    ...endedRequests(now).map((request) => ended(request, find)),
    { request: requestOf(waiting, find), history: [{ time: asked, status: { phase: 'Pending', ...mailed(asked, 'requested') } }] },
  ];
}

function ended(
  { name, requester, asked, begin, until, reason, comment }: ReturnType<typeof endedRequests>[number],
  find: Find,
): PastRequest {
  const seconds = (until.getTime() - begin.getTime()) / 1000;
  const decision = { by: ada, record: recordName(ada), approve: true, isVoid: false, comment, time: written(begin) };
  const given = { begin: written(begin), until: written(until), decisions: [decision] };
  const over = { reason: 'Expired', message: 'the access has reached its end', ended: written(until) };
  return {
    request: requestOf({ name, requester, reason, seconds }, find),
    history: [
      { time: asked, status: { phase: 'Pending' } },
      { time: begin, status: { phase: 'Approving', ...given } },
      { time: begin, status: { phase: 'Active', ...given } },
      { time: until, status: { phase: 'Ended', ...given, ...over, ...mailed(until, 'requested', 'decided', 'granted', 'ended') } },
    ],
  };
}

interface Asked {
  name: string;
  requester: string;
  reason: string;
  seconds: number;
}

function requestOf({ name, requester, reason, seconds }: Asked, find: Find): KubernetesObject {
  const record = recordName(requester);
  const metaOf = (key: KubernetesObject) => find(key)?.metadata ?? {};
  const policy = metaOf(demoAccessPolicy);
  const clusterRole = { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: { name: role } };
  return {
    ...{ apiVersion, kind: 'AccessRequest', metadata: { name } },
    spec: {
      ...{ requester, record, recordUID: metaOf({ apiVersion, kind: 'User', metadata: { name: record } }).uid },
      policy: { name: policy.name, uid: policy.uid, generation: policy.generation },
      subject: { kind: 'User', name: requester },
      ...{ roleRef: role, roleUID: metaOf(clusterRole).uid },
      ...{ scope: 'namespace', namespaces: ['shop'], reason, durationSeconds: seconds, approvals: 1, breakGlass: false },
    },
  };
}

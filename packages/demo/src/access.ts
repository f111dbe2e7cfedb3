/** Access for a while in the demo: who may ask for it, a request that waits, and one whose access has ended. */
import type { KubernetesObject } from '@atrium/embedded-cluster/objects.ts';
import { recordName } from './objects.ts';

const [ada, vera, priya] = ['admin@example.com', 'viewer@example.com', 'priya@example.com'];
const apiVersion = 'auth.platform.io/v1';
const role = 'edit';
const minuteMs = 60_000;

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
  ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding' },
  metadata: { name: 'contractors', namespace: 'shop' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'contractors' }],
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

/** Returns the requests of the demo: one has ended an hour after its approval, one waits. */
export function demoAccessRequests(now: Date, find: Find): PastRequest[] {
  const before = (minutes: number) => new Date(now.getTime() - minutes * minuteMs);
  const written = (minutes: number) =>
    before(minutes)
      .toISOString()
      .replace(/\.\d+Z$/, 'Z');
  /** Mails that a demo with a mail server does not send again. */
  const mailed = (minutes: number, ...events: string[]) => ({
    notices: events.map((event) => ({ event: `mail-${event}-1`, time: written(minutes), outcome: 'Sent' })),
  });
  const decision = { by: ada, record: recordName(ada), approve: true, isVoid: false };
  const given = {
    ...{ begin: written(184), until: written(124) },
    decisions: [{ ...decision, comment: 'Until the new prices are live', time: written(184) }],
  };
  const over = { reason: 'Expired', message: 'the access has reached its end', ended: written(124) };
  return [
    {
      request: requestOf(
        { name: 'areq-7a1c5e90b2d34f86', requester: vera, reason: 'Old prices after the sale: the storefront needs a restart' },
        find,
      ),
      history: [
        { time: before(190), status: { phase: 'Pending' } },
        { time: before(184), status: { phase: 'Approving', ...given } },
        { time: before(184), status: { phase: 'Active', ...given } },
        { time: before(124), status: { phase: 'Ended', ...given, ...over, ...mailed(124, 'requested', 'decided', 'granted', 'ended') } },
      ],
    },
    {
      request: requestOf(
        { name: 'areq-3d8f60a4c7e1b259', requester: priya, reason: 'The cart loses items: its memory limit is too low' },
        find,
      ),
      history: [{ time: before(12), status: { phase: 'Pending', ...mailed(12, 'requested') } }],
    },
  ];
}

function requestOf({ name, requester, reason }: { name: string; requester: string; reason: string }, find: Find): KubernetesObject {
  const record = recordName(requester);
  const metaOf = (key: KubernetesObject) => find(key)?.metadata ?? {};
  const policy = metaOf(demoAccessPolicy);
  const clusterRole = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: role } };
  return {
    ...{ apiVersion, kind: 'AccessRequest', metadata: { name } },
    spec: {
      ...{ requester, record, recordUID: metaOf({ apiVersion, kind: 'User', metadata: { name: record } }).uid },
      policy: { name: policy.name, uid: policy.uid, generation: policy.generation },
      subject: { kind: 'User', name: requester },
      ...{ roleRef: role, roleUID: metaOf(clusterRole).uid },
      ...{ scope: 'namespace', namespaces: ['shop'], reason, durationSeconds: 3600, approvals: 1, breakGlass: false },
    },
  };
}

/** Events of the demo before its start, so that the questions of an auditor have answers. */
import { demoRequests, endedRequests } from './access.ts';
import { recordName } from './objects.ts';

const [ada, max, jane] = ['admin@example.com', 'manager@example.com', 'jane@example.com'];
const [noa, olaf, priya] = ['nobody@example.com', 'olaf@example.com', 'priya@example.com'];
const deployer = 'system:serviceaccount:shop:deployer';
const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000];

interface ObjectRef {
  apiGroup: string;
  resource: string;
  subresource?: string;
  namespace?: string;
  name?: string;
}

/** Members of single events. A `code` from 400 is a refusal. */
interface Parts {
  code?: number;
  source?: 'door' | 'service';
  event?: string;
  action?: string;
  reason?: string;
  accessToken?: string;
  requestID?: string;
  stage?: 'ResponseStarted' | 'ResponseComplete';
  connection?: { container: string; command: string[]; tty: boolean; bytesSent?: number; bytesReceived?: number };
  changes?: { field: string; from: number; to: number }[];
  access?: { requester: string; policy: string; role: string; namespaces: string[]; until?: string };
}

/** @param who undefined for the service itself */
function event(at: number, who: string | undefined, verb: string, objectRef: ObjectRef, parts: Parts = {}) {
  const { code = 200, source = 'door', ...others } = parts;
  const byUser = who !== undefined && {
    user: { username: who },
    userAgent: who === deployer ? 'argocd/v3.2.0' : source === 'service' ? 'Mozilla/5.0' : 'kubectl/v1.36.3',
    responseStatus: { code },
  };
  const address = who === deployer ? '10.244.1.17' : `192.0.2.${10 + ((who ?? '').length % 40)}`;
  return {
    ...{ cluster: 'local', source, verb, objectRef, ...others, ...byUser },
    sourceIPs: who === undefined ? [] : [address],
    requestReceivedTimestamp: new Date(at).toISOString(),
    outcome: code < 400 ? ('success' as const) : ('failure' as const),
  };
}

type Event = ReturnType<typeof event>;

const inCore = (resource: string, namespace: string, name: string): ObjectRef => ({ apiGroup: '', resource, namespace, name });
const deployment = (name: string): ObjectRef => ({ apiGroup: 'apps', resource: 'deployments', namespace: 'shop', name });
const own = (path: string, name: string): ObjectRef => {
  const [resource = '', subresource] = path.split('/');
  return { apiGroup: 'auth.platform.io', resource, ...(subresource !== undefined && { subresource }), name };
};

/** Returns what the service did about a request for `edit` in the shop. */
function ofRequest({ name, requester, asked, begin, until }: ReturnType<typeof endedRequests>[number]): Event[] {
  const access = { requester, policy: 'shop-edit', role: 'edit', namespaces: ['shop'] };
  const given = { source: 'service' as const, access: { ...access, until: until.toISOString() } };
  const status = own('accessrequests/status', name);
  return [
    event(asked.getTime(), requester, 'create', own('accessrequests', name), {
      ...{ source: 'service', event: 'AccessRequested', code: 201, access },
    }),
    event(begin.getTime(), ada, 'update', own('accessrequests/approval', name), { ...given, event: 'AccessDecided', reason: 'Approved' }),
    event(begin.getTime() + 1, undefined, 'update', status, { ...given, event: 'AccessGranted', action: 'grant' }),
    event(until.getTime(), undefined, 'update', status, { ...given, event: 'AccessEnded', reason: 'Expired' }),
  ];
}

/** Returns the actions of Noa while the access lasted. */
const ofNoa = (begin: number): Event[] => [
  event(begin + 6 * minuteMs, noa, 'patch', deployment('storefront'), { action: 'restart' }),
  event(begin + 21 * minuteMs, noa, 'patch', inCore('configmaps', 'shop', 'storefront')),
  event(begin + 24 * minuteMs, noa, 'delete', inCore('pods', 'shop', 'storefront-5f6d8c7b9-k4v7p')),
];

/** Returns an hour with a program, a user, and an action outside of the shop. */
const ofHour = (begin: number): Event[] => [
  ...[5, 14, 23, 32, 41, 50].map((minutes) =>
    event(begin + minutes * minuteMs, deployer, 'patch', inCore('configmaps', 'shop', 'storefront')),
  ),
  event(begin + 17 * minuteMs, ada, 'patch', { apiGroup: '', resource: 'nodes', name: 'node-3' }, { action: 'cordon' }),
  event(begin + 26 * minuteMs, jane, 'delete', inCore('pods', 'shop', 'storefront-6c9d7b8f5-x2x4k')),
  event(begin + 28 * minuteMs, jane, 'patch', {
    apiGroup: 'networking.k8s.io',
    resource: 'ingresses',
    namespace: 'shop',
    name: 'storefront',
  }),
];

/** Returns the begin and the end of a shell in the database. */
function shell(begin: number): Event[] {
  const pod = { ...inCore('pods', 'payments', 'orders-db-0'), subresource: 'exec' };
  const connection = { container: 'postgres', command: ['psql', 'orders'], tty: true };
  const request = { requestID: 'demo-shell' };
  return [
    event(begin, ada, 'create', pod, { ...request, code: 101, stage: 'ResponseStarted', connection }),
    event(begin + 9 * minuteMs, ada, 'create', pod, {
      ...{ ...request, code: 101, stage: 'ResponseComplete' },
      connection: { ...connection, bytesSent: 412, bytesReceived: 18_230 },
    }),
  ];
}

/** Returns what Max did with an access token. */
export const withAccessToken = (now: Date, accessToken: string) => ({
  auditID: 'demo-token',
  ...event(now.getTime(), max, 'patch', own('users', recordName('li.wei@example.com')), { action: 'label', accessToken }),
});

/** Returns the events, the oldest first. */
export function demoEvents(now: Date) {
  const hour = now.getTime() - (now.getTime() % hourMs);
  const daysAgo = (days: number) => hour - days * dayMs;
  const requests = endedRequests(now);
  const ofTuesday = requests.find(({ name }) => name === demoRequests.noa)?.begin.getTime() ?? 0;
  const events = [
    event(daysAgo(118), olaf, 'delete', inCore('pods', 'payments', 'checkout-7c5d9b8f66-q8w2n')),
    event(daysAgo(3), jane, 'get', inCore('secrets', 'payments', 'db'), { code: 403 }),
    event(daysAgo(3) + 7 * minuteMs, ada, 'get', inCore('secrets', 'payments', 'db')),
    event(
      daysAgo(2),
      jane,
      'patch',
      { ...deployment('storefront'), subresource: 'scale' },
      { action: 'scale', changes: [{ field: 'spec.replicas', from: 2, to: 3 }] },
    ),
    ...requests.flatMap(ofRequest),
    ...ofNoa(ofTuesday),
    event(hour - 9 * hourMs + 40 * minuteMs, priya, 'get', inCore('secrets', 'shop', 'storefront-tls'), { code: 403 }),
    event(hour - 9 * hourMs + 44 * minuteMs, olaf, 'create', own('users/sessions', recordName(olaf)), {
      ...{ source: 'service', event: 'LoginFailed', reason: 'Disabled', code: 401 },
    }),
    ...ofHour(hour - 5 * hourMs),
    ...shell(hour - 4 * hourMs + 20 * minuteMs),
  ];
  return events
    .toSorted((one, other) => one.requestReceivedTimestamp.localeCompare(other.requestReceivedTimestamp))
    .map((one, index) => ({ auditID: `demo-${index + 1}`, ...one }));
}

/**
 * Random requests at the door of a service on a real kube-apiserver, whose own audit log tells what came through. `AUDIT_STEPS=20000` makes
 * a long run, and `AUDIT_SEED` plays one again.
 */
import { readFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { expect } from 'chai';
import { z } from 'zod';
import { auditEventList } from '../../../src/activity/schema.ts';
import { withAuditStore } from '../../service/audit-store/installation.ts';
import { aPerson, makeToken, serviceAccount } from '../../service/tokens/tokens.ts';
import { eventually, type Manifest } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { randomNumbers } from '../../support/random-numbers.ts';
import { loopbackCertificates } from '../certificates.ts';
import { startNode } from '../node.ts';
import { AuditLog } from './audit-log.ts';
import { type RandomRequest, randomRequests, runningPod, users } from './random-requests.ts';

const steps = Number(process.env.AUDIT_STEPS ?? '400');
const seed = Number(process.env.AUDIT_SEED ?? Math.floor(Math.random() * 1_000_000));
/** Requests at a time. */
const senders = 4;
/** User agent of requests whose sender leaves before the answer: the door does not know the outcome then. */
const leaver = 'leaves';

const line = z.object({
  auditID: z.string(),
  verb: z.string(),
  requestURI: z.string(),
  user: z.object({ username: z.string().default('') }),
  impersonatedUser: z.object({ username: z.string() }).optional(),
  objectRef: z
    .object({
      apiGroup: z.string().default(''),
      resource: z.string().default(''),
      subresource: z.string().optional(),
      namespace: z.string().optional(),
      name: z.string().optional(),
    })
    .optional(),
  responseStatus: z.object({ code: z.int() }).optional(),
  requestObject: z.looseObject({ dryRun: z.array(z.string()).default([]) }).optional(),
});
type Line = z.output<typeof line>;

/** Returns the line with the user of an access token as the one who asks: the service acts as that user with its own account. */
const ofCaller = ({ user, impersonatedUser, ...rest }: Line): Line =>
  user.username === serviceAccount && impersonatedUser
    ? { ...rest, user: impersonatedUser }
    : { ...rest, user, ...(impersonatedUser && { impersonatedUser }) };
type Stored = z.output<typeof auditEventList>['items'][number];

const reads = ['get', 'list', 'watch'];
const connections = ['exec', 'attach', 'portforward'];

/** Reports whether a request must have an event: a write, a connection or a read of Secrets. The service sends reviews in the name of callers. */
function isAudited({ user, verb, objectRef }: Line): boolean {
  if (objectRef === undefined || !(users as readonly string[]).includes(user.username)) return false;
  const { apiGroup, resource, subresource = '' } = objectRef;
  if (reads.includes(verb)) return connections.includes(subresource) || (apiGroup === '' && resource === 'secrets');
  return !resource.endsWith('reviews');
}

/** Reports whether a request that succeeded had no effect: by its body, if it is a deletion with one. */
function isDryRun({ verb, requestURI, objectRef, requestObject }: Line): boolean {
  if (reads.includes(verb) || connections.includes(objectRef?.subresource ?? '')) return false;
  return requestObject === undefined ? requestURI.includes('dryRun=All') : requestObject.dryRun.length > 0;
}

/** Returns what the API server tells otherwise than the event, or 'no event'. */
function difference(told: Line, event: Stored | undefined): string | undefined {
  if (event === undefined) return 'no event';
  const { apiGroup, resource, subresource = '', namespace = '', name = '' } = told.objectRef ?? {};
  const { objectRef } = event;
  const isNamespace = apiGroup === '' && resource === 'namespaces';
  const code = told.responseStatus?.code ?? 0;
  // The API server does not know a name that it generates, and the door no name of a refused creation.
  const isLeft = event.userAgent === leaver;
  const isUnknown = told.verb === 'create' && (name === '' || (objectRef.name === undefined && (code >= 400 || isLeft)));
  const pairs: Record<string, [unknown, unknown]> = {
    user: [told.user.username, event.user?.username],
    impersonatedUser: [told.impersonatedUser?.username, event.impersonatedUser?.username],
    verb: [told.verb, event.verb],
    apiGroup: [apiGroup, objectRef.apiGroup],
    resource: [resource, objectRef.resource],
    subresource: [subresource, objectRef.subresource ?? ''],
    ...(!isNamespace && { namespace: [namespace, objectRef.namespace ?? ''] }),
    ...(!isUnknown && { name: [name, objectRef.name ?? ''] }),
    ...(code < 400 && { dryRun: [isDryRun(told), event.dryRun === true] }),
    ...(!isLeft && { code: [code, event.responseStatus?.code] }),
    ...(!isLeft && { outcome: [code < 400 ? 'success' : 'failure', event.outcome] }),
  };
  const [found] = Object.entries(pairs).filter(([, [one, other]]) => one !== other);
  return found && `${found[0]}: ${found[1].join(' is ')}`;
}

const crontabs: Manifest = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'crontabs.example.com' },
  spec: {
    group: 'example.com',
    names: { kind: 'CronTab', plural: 'crontabs' },
    scope: 'Namespaced',
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
};

describe(`random requests at the door (AUDIT_SEED=${seed})`, function () {
  this.timeout(0);
  const service = forSuite(async () => {
    const started = await withAuditStore({
      isReused: false,
      config: { kubernetes: { viewAs: 'write' }, login: { stepUp: { operations: [] } } },
      objects: [
        { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
        ...users.map((user) => aPerson(user)),
        crontabs,
        clusterRoleBinding('owner', 'cluster-admin', { kind: 'User', name: 'manager' }),
        clusterRoleBinding('editor', 'edit', { kind: 'User', name: 'alice' }),
        clusterRoleBinding('reader', 'view', { kind: 'User', name: 'bob' }),
      ],
    });
    await started.startStore();
    await started.kubernetes.applyFile('impersonation.yaml');
    const { serving } = await loopbackCertificates();
    const node = await startNode(started.kubernetes, serving);
    await node.addPod(runningPod);
    return {
      ...started,
      async stop() {
        await node.stop();
        await started.stop();
      },
    };
  });
  const accessTokens = new Map<string, string>();
  const opened = { count: 0 };

  before(async () => {
    for (const user of users) accessTokens.set(user, (await makeToken(service, user)).token);
  });

  /** Returns all events of the door by their ids. */
  async function stored(): Promise<Map<string, Stored>> {
    const found = new Map<string, Stored>();
    for (let next: string | undefined = ''; next !== undefined; ) {
      const query = new URLSearchParams({ source: 'door', limit: '500', ...(next && { continue: next }) });
      const response = await service.request(`/auth/v1/audit?${query}`, { as: 'admin' });
      expect(response.status).to.equal(200);
      const { items, metadata } = auditEventList.parse(await response.json());
      for (const event of items) found.set(event.auditID, event);
      next = metadata.continue;
    }
    return found;
  }

  /** Asks for a connection in another protocol, and ends it when it is open. */
  const upgrade = (path: string, headers: Record<string, string>) =>
    new Promise<void>((resolve) => {
      const upgrading = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' };
      const protocol = path.includes('/portforward') ? 'SPDY/3.1+portforward.k8s.io' : 'v5.channel.k8s.io';
      const key = { 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==', 'sec-websocket-protocol': protocol };
      const sent = httpRequest(`${service.url}${path}`, { headers: { ...upgrading, ...key, ...headers } });
      sent.on('upgrade', (_response, socket) => {
        opened.count += 1;
        resolve(void socket.destroy());
      });
      sent.on('response', (response) => response.resume().on('close', resolve));
      sent.on('error', () => resolve()).end();
    });

  async function sendOne(given: RandomRequest): Promise<void> {
    const { path, isAborted, isUpgrade, agent, accept, viewed, isViewWrite, hasAccessToken, as, ...rest } = given;
    const token = hasAccessToken ? (accessTokens.get(as) ?? '') : await service.token(as);
    const headers = {
      accept,
      'user-agent': isAborted && !isUpgrade ? leaver : agent,
      ...(viewed !== undefined && { 'impersonate-user': viewed }),
      ...(viewed !== undefined && isViewWrite && { 'atrium-view-as-write': viewed }),
    };
    if (isUpgrade) return upgrade(path, { ...headers, authorization: `Bearer ${token}` });
    const type = rest.method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const leaving = new AbortController();
    const answered = service.request(path, { ...rest, token, signal: leaving.signal, headers: { 'content-type': type, ...headers } });
    if (isAborted) setImmediate(() => leaving.abort());
    // A caller that has left gets no answer.
    await answered.then((response) => response.arrayBuffer()).catch(() => undefined);
  }

  it(`leave an event for each of ${steps} that the API server tells`, async () => {
    const request = randomRequests(randomNumbers(seed));
    let left = steps;
    const send = async () => {
      while (left > 0) {
        left -= 1;
        await sendOne(request());
      }
    };
    await Promise.all(Array.from({ length: senders }, send));
    // Few of the random requests open a connection.
    const path = `/api/kubernetes/api/v1/namespaces/default/pods/${runningPod}/exec?command=true&container=main&stdout=true`;
    const opening = { path, method: 'GET', as: 'manager', isUpgrade: true, isAborted: false, viewed: undefined } as const;
    await sendOne({ ...request(), ...opening });

    const log = new AuditLog(service.auditLog ?? '', service.kubernetes);
    await log.text();
    const told = (await readFile(service.auditLog ?? '', 'utf8'))
      .split('\n')
      .slice(0, -1)
      .map((text) => ofCaller(line.parse(JSON.parse(text))))
      .filter(isAudited);
    const wrong = (events: ReadonlyMap<string, Stored>) =>
      told.flatMap((one) => {
        const isDifferent = difference(one, events.get(one.auditID.replace(/^atrium-/, '')));
        return isDifferent === undefined ? [] : [{ isDifferent, ...one }];
      });
    const events = await eventually(stored, (found) => wrong(found).length === 0).catch(stored);
    expect(wrong(events)).to.deep.equal([]);
    expect(told.length).to.be.greaterThan(steps / 4);
    expect(opened.count).to.be.greaterThan(0);
    const byToken = [...events.values()].filter(({ accessToken }) => accessToken !== undefined).length;
    expect(byToken).to.be.greaterThan(0);
    const counts = `${told.length} told by the API server, ${byToken} with access tokens, ${opened.count} connections open`;
    console.log(`      ${steps} requests, ${counts}, ${events.size} events of the door, 0 missing`);
  });
});

import { once } from 'node:events';
import { createConnection } from 'node:net';
import { expect } from 'chai';
import { auditEventList } from '../../../src/activity/schema.ts';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { applyKnown } from '../bindings/support.ts';
import { aUser, nameOf } from '../users/a-user.ts';
import { withAuditStore } from './installation.ts';

const webhookToken = 'a-token-of-32-characters-or-more.';
const configMaps = '/api/kubernetes/api/v1/namespaces/default/configmaps';

/** Returns an event of kube-apiserver about a write, with all members that it sends. */
const anEvent = (auditID: string, parts: object = {}) => ({
  ...{ kind: 'Event', apiVersion: 'audit.k8s.io/v1', level: 'RequestResponse', auditID, stage: 'ResponseComplete', verb: 'patch' },
  requestURI: '/api/v1/namespaces/default/secrets/db?fieldManager=kubectl',
  user: { username: 'noa', uid: 'u-noa', groups: ['system:authenticated', 'sre'], extra: { scopes: ['a'] } },
  ...{ sourceIPs: ['192.0.2.9'], userAgent: 'kubectl/v1.36.0' },
  objectRef: { resource: 'secrets', namespace: 'default', name: 'db', apiVersion: 'v1' },
  responseStatus: { metadata: {}, code: 200 },
  requestObject: { kind: 'Secret', stringData: { password: 'hunter2' } },
  responseObject: { kind: 'Secret', data: { password: 'aHVudGVyMg==' } },
  requestReceivedTimestamp: '2026-11-29T10:00:00.123456Z',
  stageTimestamp: '2026-11-29T10:00:00.135456Z',
  annotations: {
    'authorization.k8s.io/decision': 'allow',
    'authorization.k8s.io/reason': 'RBAC: allowed by RoleBinding "edit/default" of ClusterRole "edit" to User "noa"',
    'example.com/secret': 'hunter2',
  },
  ...parts,
});

describe('the audit webhook of kube-apiserver', () => {
  const service = forSuite(async () => {
    const started = await withAuditStore({ webhookToken });
    await started.startStore();
    return started;
  });
  const send = async (items: unknown, token: string | undefined = webhookToken, headers = {}) =>
    fetch(`${service.storeURL}/v1/kube-apiserver?timeout=30s`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }), ...headers },
      body: typeof items === 'string' ? items : JSON.stringify({ kind: 'EventList', apiVersion: 'audit.k8s.io/v1', metadata: {}, items }),
    });
  const list = async (query: string) => {
    const response = await service.request(`/auth/v1/audit?${query}`, { as: 'admin' });
    expect(response.status).to.equal(200);
    return auditEventList.parse(await response.json()).items;
  };

  const joined = async () => {
    const metrics = await (await fetch(`${service.storeMetricsURL()}/metrics`)).text();
    return Number(/^atrium_audit_store_received_total\{outcome="joined"\} (\d+)$/m.exec(metrics)?.[1] ?? 0);
  };

  it('keeps a request that no door told, with its right and without its body', async () => {
    expect((await send([anEvent('9f0c')])).status).to.equal(204);
    const [event, ...others] = await list('source=kube-apiserver&resource=secrets');
    expect(others).to.deep.equal([]);
    const { auditID, ...told } = event ?? expect.fail('no event');
    expect(auditID).to.match(/^[0-9a-f]{32}$/);
    expect(told).to.deep.equal({
      ...{ cluster: 'local', source: 'kube-apiserver', verb: 'patch', user: { username: 'noa', uid: 'u-noa', groups: ['sre'] } },
      ...{ sourceIPs: ['192.0.2.9'], userAgent: 'kubectl/v1.36.0' },
      objectRef: { apiGroup: '', resource: 'secrets', namespace: 'default', name: 'db' },
      ...{ requestReceivedTimestamp: '2026-11-29T10:00:00.123Z', milliseconds: 12, outcome: 'success', responseStatus: { code: 200 } },
      requestID: '9f0c',
      annotations: {
        'authorization.k8s.io/decision': 'allow',
        'authorization.k8s.io/reason': 'RBAC: allowed by RoleBinding "edit/default" of ClusterRole "edit" to User "noa"',
      },
    });
    const answer = await service.request('/auth/v1/audit?resource=secrets', { as: 'admin' });
    expect(await answer.text()).to.not.match(/hunter2|aHVudGVyMg/);
  });

  it('keeps a batch that is sent twice once', async () => {
    for (let sent = 0; sent < 2; sent += 1) expect((await send([anEvent('twice', { verb: 'delete' })])).status).to.equal(204);
    expect(await list('source=kube-apiserver&verb=delete')).to.have.length(1);
  });

  it('keeps two requests of a sender who gives both the same id', async () => {
    const at = (stageTimestamp: string) => anEvent('same', { verb: 'update', stageTimestamp });
    await send([at('2026-11-29T10:00:01Z'), at('2026-11-29T10:00:02Z')]);
    expect(await list('source=kube-apiserver&verb=update')).to.have.length(2);
  });

  it('keeps all events of a large batch', async () => {
    const size = 450;
    const items = Array.from({ length: size }, (_, index) => anEvent(`large-${index}`, { user: { username: 'large' } }));
    expect((await send(items)).status).to.equal(204);
    expect(await list('actor=large&limit=500')).to.have.length(size);
  });

  it('keeps all events of the largest batch that the flags of docs/audit.md allow', async () => {
    const requestURI = `/api/v1/namespaces/default/configmaps/a?${'&'.repeat(8 * 1024 * 1024 - 2_048)}`;
    const items = Array.from({ length: 4 }, (_, index) => anEvent(`long-${index}`, { requestURI, user: { username: 'long' } }));
    expect((await send(items)).status).to.equal(204);
    expect(await list('actor=long')).to.have.length(items.length);
  });

  it('takes the next batch after a sender that leaves before its batch is complete', async () => {
    const { host } = new URL(service.storeURL);
    const head = `POST /v1/kube-apiserver HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${webhookToken}\r\n`;
    const connect = async () => {
      const socket = createConnection({ host: '127.0.0.1', port: Number(new URL(service.storeURL).port) });
      await once(socket, 'connect');
      socket.write(`${head}Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{"kind"`);
      return socket;
    };
    const [first, second] = [await connect(), await connect()];
    const answered = send([anEvent('after', { user: { username: 'after' } })]);
    second.destroy();
    first.destroy();
    expect((await answered).status).to.equal(204);
    expect(await list('actor=after')).to.have.length(1);
  });

  it('keeps writes, connections and reads of Secrets alone, once they are over', async () => {
    const parts = (resource: string, more: object = {}) => ({ objectRef: { resource, namespace: 'quiet', name: 'x' }, ...more });
    const reviews = { apiGroup: 'authentication.k8s.io', resource: 'tokenreviews', namespace: 'quiet' };
    await send([
      anEvent('1', parts('pods', { verb: 'list' })),
      anEvent('2', parts('pods', { stage: 'RequestReceived' })),
      anEvent('3', parts('pods', { stage: 'ResponseStarted' })),
      anEvent('4', { objectRef: undefined, requestURI: '/healthz' }),
      anEvent('5', { objectRef: reviews, verb: 'create' }),
      anEvent('7', parts('secrets', { verb: 'list' })),
      anEvent('8', parts('pods', { stage: 'Panic', verb: 'delete', responseStatus: undefined, requestObject: undefined })),
      anEvent('9', {
        objectRef: { resource: 'pods', subresource: 'exec', namespace: 'quiet', name: 'x' },
        verb: 'get',
        requestURI: '/api/v1/namespaces/quiet/pods/x/exec?command=cat&command=%2Fetc%2Fpasswd&container=app&tty=true',
        responseStatus: { code: 101 },
      }),
      anEvent('10', parts('pods', { requestURI: '/api/v1/namespaces/quiet/pods/x?dryRun=All' })),
    ]);
    const kept = await list('namespace=quiet');
    expect(kept.map(({ requestID }) => requestID).toSorted()).to.deep.equal(['10', '7', '8', '9']);
    const byID = Object.fromEntries(kept.map((event) => [event.requestID, event]));
    expect(byID['8']).to.deep.include({ outcome: 'failure', responseStatus: { code: 500 } });
    expect(byID['9']).to.deep.include({
      stage: 'ResponseComplete',
      connection: { container: 'app', command: ['cat', '/etc/passwd'], tty: true },
    });
    expect(byID['10']).to.include({ dryRun: true });
  });

  it('ignores renewals of Leases by the cluster, and keeps each other write of one', async () => {
    const lease = (name: string, namespace = 'kube-node-lease', apiGroup = 'coordination.k8s.io') => ({
      objectRef: { apiGroup, resource: 'leases', namespace, name },
    });
    const by = (username: string, verb: string) => ({ user: { username }, verb });
    const own = 'system:serviceaccount:atrium-system:atrium';
    await send([
      anEvent('node', { ...lease('n1'), ...by('system:node:n1', 'update') }),
      anEvent('node-patch', { ...lease('n1'), ...by('system:node:n1', 'patch') }),
      anEvent('scheduler', { ...lease('kube-scheduler', 'kube-system'), ...by('system:kube-scheduler', 'update') }),
      anEvent('controller', { ...lease('op', 'operators'), ...by('system:serviceaccount:operators:op', 'update') }),
      anEvent('deleted', { ...lease('n1'), ...by('system:node:n1', 'delete') }),
      anEvent('created', { ...lease('n1'), ...by('system:node:n1', 'create') }),
      anEvent('k3s', { ...lease('n1'), ...by('system:admin', 'update') }),
      anEvent('person', { ...lease('n1'), ...by('noa', 'update') }),
      anEvent('checkpoints', { ...lease('atrium-audit', 'atrium-system'), ...by(own, 'update') }),
      anEvent('own-patch', { ...lease('atrium-audit', 'atrium-system'), ...by(own, 'patch') }),
      anEvent('as-own', { ...lease('atrium-audit'), ...by('noa', 'update'), impersonatedUser: { username: own } }),
      anEvent('by-own', { ...lease('atrium-audit'), ...by(own, 'update'), impersonatedUser: { username: 'noa' } }),
      anEvent('forged', { ...lease('atrium-audit', 'any'), ...by('system:serviceaccount:any:any', 'patch') }),
      anEvent('others', { ...lease('l', 'any', 'example.com'), ...by(own, 'update') }),
      anEvent('refused', { ...lease('n2'), ...by('system:node:n1', 'update'), responseStatus: { code: 403 } }),
    ]);
    const kept = (await list('resource=leases&limit=50')).map(({ requestID }) => requestID).toSorted();
    const leases = ['as-own', 'by-own', 'created', 'deleted', 'forged', 'k3s', 'node-patch', 'others', 'own-patch', 'person', 'refused'];
    expect(kept).to.deep.equal(leases);
  });

  it('keeps the groups of a user, and finds the event by one of them', async () => {
    const groups = ['system:masters', 'ops\0', ...Array.from({ length: 2_000 }, (_, index) => `team-${index}`)];
    await send([anEvent('grouped', { user: { username: 'root', uid: 'u-root', groups } })]);
    const [event, ...others] = await list('source=kube-apiserver&actor=root&actorGroup=system:masters');
    expect(others).to.deep.equal([]);
    expect(event?.user).to.deep.include({ username: 'root', uid: 'u-root' });
    expect(event?.user?.groups).to.include('system:masters');
  });

  it('keeps a request through the door as one event', async () => {
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'joined' } };
    expect((await service.request(configMaps, { method: 'POST', as: 'alice', body })).status).to.equal(403);
    const [told] = await eventually(
      () => list('resource=configmaps'),
      ({ length }) => length === 1,
    );
    const { auditID = '', requestReceivedTimestamp } = told ?? {};
    const same = {
      ...{ verb: 'create', user: { username: 'alice' }, requestURI: '/api/v1/namespaces/default/configmaps' },
      ...{ objectRef: { resource: 'configmaps', namespace: 'default', name: 'joined' }, responseStatus: { code: 403 } },
      ...{ requestReceivedTimestamp, stageTimestamp: requestReceivedTimestamp },
    };
    expect((await send([anEvent(`atrium-${auditID}`, same)])).status).to.equal(204);
    expect(await list('resource=configmaps')).to.have.length(1);
    const metrics = await (await fetch(`${service.storeMetricsURL()}/metrics`)).text();
    expect(metrics).to.include('atrium_audit_store_received_total{outcome="joined"} 1');
    // A sender past the door who chooses the id of this event for another act does not hide it.
    await send([anEvent(`atrium-${auditID}`, { ...same, verb: 'delete', responseStatus: { code: 200 } })]);
    expect((await list('resource=configmaps')).map(({ source }) => source).toSorted()).to.deep.equal(['door', 'kube-apiserver']);
  });

  it('keeps a write of its account for a user as one event, and all others with the id of this event', async () => {
    const name = nameOf('alice@example.com');
    await applyKnown(service, aUser('alice@example.com', { subjectName: 'alice' }));
    const headers = { 'content-type': 'application/merge-patch+json' };
    const change = { method: 'PATCH', as: 'alice', headers, body: { spec: { username: 'Alice' } } } as const;
    expect((await service.request(`/auth/v1/users/${name}`, change)).status).to.equal(200);
    const [event] = await eventually(
      () => list('event=UserPatched'),
      ({ length }) => length === 1,
    );
    const { auditID = '', requestReceivedTimestamp, user } = event ?? {};
    expect(user?.username).to.equal('alice');
    expect(auditID).to.match(/^own-write-/);
    let sent = 0;
    const write = (username: string, parts: object = {}) => {
      sent += 1;
      return anEvent(`atrium-${auditID}`, {
        ...{ user: { username }, requestURI: `/apis/auth.platform.io/v1/users/${name}?fieldManager=${sent}` },
        ...{ objectRef: { apiGroup: 'auth.platform.io', resource: 'users', name } },
        ...{ requestReceivedTimestamp, stageTimestamp: requestReceivedTimestamp, ...parts },
      });
    };
    const account = `system:serviceaccount:${serviceNamespace}:atrium`;
    const others = [
      write('alice'),
      write('noa'),
      write('system:serviceaccount:shop:atrium'),
      write('admin', { impersonatedUser: { username: account } }),
      write(account, { impersonatedUser: { username: 'alice' } }),
      write(account, { verb: 'delete' }),
    ];
    const before = await joined();
    await send(others);
    expect(await list(`source=kube-apiserver&name=${name}`)).to.have.length(others.length);
    await send([write(account)]);
    expect(await joined()).to.equal(before + 1);
    await send([write(account)]);
    expect(await joined()).to.equal(before + 1);
    expect(await list(`source=kube-apiserver&name=${name}`)).to.have.length(others.length + 1);
  });

  it('refuses callers without its token, also a replica, and bodies in another form', async () => {
    const refused: [number, Response][] = [
      [401, await send([], '')],
      [401, await send([], 'guessed')],
      [401, await send([], await service.accountToken('atrium-audit-store'))],
      [400, await send('no JSON')],
      [400, await send([{ auditID: 1 }])],
      [400, await send('{"kind":"Event","apiVersion":"audit.k8s.io/v1"}')],
      [413, await send('x'.repeat(34 * 1024 * 1024))],
      [415, await send([], webhookToken, { 'content-type': 'text/plain' })],
    ];
    for (const [code, response] of refused)
      expect([response.status, ((await response.json()) as { kind: string }).kind]).to.deep.equal([code, 'Status']);
    const asReplica = await fetch(`${service.storeURL}/v1/queries`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${webhookToken}` },
      body: JSON.stringify({ filter: {}, limit: 1 }),
    });
    expect(asReplica.status).to.equal(401);
  });
});

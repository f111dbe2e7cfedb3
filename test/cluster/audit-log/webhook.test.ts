/** The audit webhook of a real kube-apiserver: what comes through the door is one event, and what goes past it is one, too. */
import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { auditEventList } from '../../../src/activity/schema.ts';
import { aliceAsksBob } from '../../service/access-requests/support.ts';
import { withAuditStore } from '../../service/audit-store/installation.ts';
import { applyKnown } from '../../service/bindings/support.ts';
import { aGroup } from '../../service/groups/support.ts';
import { nameOf } from '../../service/users/a-user.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { auditWebhookFlags } from '../authentication-config.ts';
import { AuditLog } from './audit-log.ts';

const webhookToken = 'the-token-of-this-kube-apiserver-and-no-other';
const core = '/api/v1/namespaces/default';
const mergePatch = 'application/merge-patch+json';

describe('the audit webhook of a real kube-apiserver', () => {
  const service = forSuite(async () => {
    const config = { features: { accessRequests: true, groups: true }, kubernetes: { viewAs: 'write' } };
    const started = await withAuditStore({ webhookToken, hasTLS: true, isReused: false, config });
    await started.startStore();
    return started;
  });
  const list = async (query: string) => {
    const response = await service.request(`/auth/v1/audit?limit=500&${query}`, { as: 'admin' });
    expect(response.status).to.equal(200);
    return auditEventList.parse(await response.json()).items;
  };
  const received = async (outcome: string) => {
    const metrics = await (await fetch(`${service.storeMetricsURL()}/metrics`)).text();
    return Number(new RegExp(`^atrium_audit_store_received_total\\{outcome="${outcome}"\\} (\\d+)$`, 'm').exec(metrics)?.[1] ?? 0);
  };
  /** Returns the events of the store that have taken the place of one of the API server. */
  const joinedWhere = (condition: string) => {
    const database = new DatabaseSync(service.databaseFile, { readOnly: true, timeout: 60_000 });
    const rows = database.prepare(`SELECT events.* FROM events JOIN joins USING (sequence) WHERE ${condition}`).all();
    database.close();
    return rows;
  };
  const named = (kind: string, name: string, more: object = {}) => ({ apiVersion: 'v1', kind, metadata: { name }, ...more });
  /** Requests at the door, of which each makes an event. */
  const requests: [method: string, path: string, body?: unknown, contentType?: string][] = [
    ['POST', `${core}/configmaps`, named('ConfigMap', 'one')],
    ['POST', `${core}/configmaps`, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'some-' } }],
    ['PATCH', `${core}/configmaps/one`, { data: { a: 'b' } }, mergePatch],
    ['PATCH', `${core}/configmaps/one?dryRun=All`, { data: { a: 'c' } }, mergePatch],
    ['PUT', `${core}/configmaps/one`, named('ConfigMap', 'one', { data: { a: 'd' } })],
    ['DELETE', `${core}/configmaps/one`, { apiVersion: 'v1', kind: 'DeleteOptions', dryRun: ['All'] }],
    ['DELETE', `${core}/configmaps/one?dryRun=All`],
    ['DELETE', `${core}/configmaps/none`],
    ['DELETE', `${core}/configmaps?labelSelector=none%3Dnone`],
    ['POST', `${core}/secrets`, named('Secret', 'db', { stringData: { password: 'hunter2' } })],
    ['GET', `${core}/secrets/db`],
    ['GET', `${core}/secrets`],
    ['POST', '/api/v1/namespaces', named('Namespace', 'shop')],
    ['PATCH', '/api/v1/namespaces/shop', { metadata: { labels: { a: 'b' } } }, mergePatch],
    ['POST', `${core}/pods/none/exec?command=ls&container=app`],
    ['GET', `${core}/pods/none/exec?command=ls&container=app`],
    ['DELETE', `${core}/configmaps/one`],
  ];

  it('makes each request at the door one event', async () => {
    // The API server tells the requests of the setup, too, some of them late.
    const begin = new Date().toISOString();
    for (const [method, path, body, contentType = 'application/json'] of requests) {
      const headers = { ...(body !== undefined && { 'content-type': contentType }), 'audit-id': 'chosen-by-the-client' };
      await service.request(`/api/kubernetes${path}`, { method, as: 'admin', headers, ...(body !== undefined && { body }) });
    }
    // Either of both events of a request may arrive first.
    await eventually(
      async () => (await received('joined')) + (await received('waiting')),
      (count) => count >= requests.length,
    );
    await eventually(
      () => list('source=door'),
      ({ length }) => length >= requests.length,
    );
    expect(await list('source=door')).to.have.length(requests.length);
    const apiServerOnly = await list(`source=kube-apiserver&actor=admin&namespace=default&from=${begin}`);
    expect(apiServerOnly).to.deep.equal([]);
    const log = new AuditLog(service.auditLog ?? '', service.kubernetes);
    expect(await log.text()).to.not.include('chosen-by-the-client');
  });

  it('makes a request past the door an event, with the right that allowed it', async () => {
    await service.kubernetes.call('POST', `${core}/configmaps`, named('ConfigMap', 'past'));
    const [event] = await eventually(
      () => list('source=kube-apiserver&name=past'),
      ({ length }) => length === 1,
    );
    expect(event).to.deep.include({
      ...{ source: 'kube-apiserver', verb: 'create', outcome: 'success', responseStatus: { code: 201 } },
      objectRef: { apiGroup: '', resource: 'configmaps', namespace: 'default', name: 'past' },
    });
    expect(event?.user?.username).to.equal('admin');
    expect(event?.annotations).to.include({ 'authorization.k8s.io/decision': 'allow' });
  });

  it('makes a deletion past the door a dry run, where the policy of the API server tells its body', async () => {
    const options = { apiVersion: 'v1', kind: 'DeleteOptions' };
    const found = () => list('source=kube-apiserver&verb=delete&name=kept');
    await service.kubernetes.call('POST', `${core}/configmaps`, named('ConfigMap', 'kept'));
    await service.kubernetes.call('DELETE', `${core}/configmaps/kept`, { ...options, dryRun: ['All'] });
    await service.kubernetes.call('DELETE', `${core}/configmaps/kept?dryRun=All`, options);
    const events = await eventually(found, ({ length }) => length === 2);
    expect(events.map(({ outcome, dryRun }) => [outcome, dryRun])).to.deep.equal([
      ['success', undefined],
      ['success', true],
    ]);
    expect(JSON.stringify(events)).to.not.include('DeleteOptions');
  });

  it('keeps each of several writes with the longest URI, and one beside them, with the flags of docs/audit.md', async () => {
    const page = await readFile(new URL('../../../docs/audit.md', import.meta.url), 'utf8');
    for (const [name, value] of Object.entries(auditWebhookFlags)) expect(page).to.include(`{name: ${name}, value: '${value}'}`);
    const { url, certificateAuthority: ca } = service.cluster;
    const authorization = `Bearer ${await service.token('admin')}`;
    // The API server tells this sign with six bytes.
    const padding = '<'.repeat(2 ** 20 - 1_024);
    const send = (method: string, path: string, body?: object) =>
      new Promise<number | undefined>((resolve, reject) => {
        const headers = body && { authorization, 'content-type': 'application/json' };
        const sent = request(new URL(url), { method, path, ca, agent: false, ...(headers && { headers }) }, (response) => {
          response.resume().on('end', () => resolve(response.statusCode));
        });
        sent.on('error', reject).end(body && JSON.stringify(body));
      });
    const names = Array.from({ length: 6 }, (_, index) => `long-${index}`);
    const codes = await Promise.all([
      send('POST', `${core}/configmaps`, named('ConfigMap', 'beside')),
      ...names.map((name) => send('POST', `${core}/configmaps?${padding}`, named('ConfigMap', name))),
      // The API server itself drops the event of a stranger whose path it tells four times.
      send('DELETE', `${core}/configmaps/${padding}`),
    ]);
    expect(codes).to.deep.equal([201, ...names.map(() => 201), 403]);
    for (const name of ['beside', ...names])
      await eventually(
        () => list(`source=kube-apiserver&verb=create&name=${name}`),
        ({ length }) => length === 1,
      );
  });

  it('makes a write of the service one event, also each of several deletions', async () => {
    const users = '/auth/v1/users';
    const send = async (path: string, request: object, code: number) => {
      const response = await service.request(path, { as: 'admin', ...request });
      expect(response.status).to.equal(code);
      return response;
    };
    const create = async (email: string) => {
      const created = await send(users, { method: 'POST', body: { spec: { email, password: 'correct horse battery staple' } } }, 201);
      return ((await created.json()) as { metadata: { name: string } }).metadata.name;
    };
    const [una, uli, ute] = [await create('una@example.com'), await create('uli@example.com'), await create('ute@example.com')];
    const change = { headers: { 'content-type': mergePatch }, body: { spec: { username: 'Una' } } };
    await send(`${users}/${una}`, { method: 'PATCH', ...change }, 200);
    await send(`${users}/${una}`, { method: 'DELETE' }, 204);
    await send(users, { method: 'DELETE', body: { names: [uli, ute] } }, 200);
    const joined = async () =>
      joinedWhere("source = 'service' AND resource = 'users'")
        .map(({ verb, name }) => `${verb} ${name}`)
        .toSorted();
    const acts = [`patch ${una}`, ...[una, uli, ute].flatMap((name) => [`create ${name}`, `delete ${name}`])].toSorted();
    expect(await eventually(joined, ({ length }) => length >= acts.length)).to.deep.equal(acts);
    expect(await list('source=kube-apiserver&resource=users&actor=admin&verb=delete')).to.deep.equal([]);
  });

  it('makes a write with the account of the service for a user one event', async () => {
    await applyKnown(service, aGroup('crew'));
    const access = await aliceAsksBob(service);
    const request = await access.asked({ as: 'alice' });
    expect((await access.decide({ as: 'bob' }, request)).status).to.equal(200);
    expect((await access.end({ as: 'alice' }, request)).status).to.equal(200);
    const alice = nameOf('alice@example.com');
    const change = { method: 'PATCH', headers: { 'content-type': mergePatch }, body: { spec: { username: 'Alice' } } };
    expect((await service.request(`/auth/v1/users/${alice}`, { as: 'alice', ...change })).status).to.equal(200);
    const members = { method: 'POST', body: { names: [alice] } };
    expect((await service.request('/auth/v1/groups/crew/members', { as: 'admin', ...members })).status).to.equal(200);
    const names = [request.metadata.name, alice, 'crew'];
    const joined = async () =>
      joinedWhere(`name IN (${names.map((name) => `'${name}'`)})`)
        .map(({ event }) => event)
        .toSorted();
    const acts = ['AccessDecided', 'AccessEnded', 'AccessGranted', 'AccessRequested', 'GroupMembersChanged', 'UserPatched'];
    expect(await eventually(joined, ({ length }) => length >= acts.length)).to.deep.equal(acts);
  });

  it('makes a write at the door as another user one event', async () => {
    await service.kubernetes.apply(clusterRoleBinding('bob-edits', 'edit', { kind: 'User', name: 'bob' }));
    const headers = { 'impersonate-user': 'bob', 'atrium-view-as-write': 'bob' };
    const create = { as: 'admin', method: 'POST', headers, body: named('ConfigMap', 'viewed') } as const;
    await eventually(
      () => service.request(`/api/kubernetes${core}/configmaps`, create),
      ({ status }) => status === 201,
    );
    const joined = async () => joinedWhere("name = 'viewed' AND outcome = 'success'").map(({ source, actor }) => [source, actor]);
    expect(await eventually(joined, ({ length }) => length > 0)).to.deep.equal([['door', 'admin']]);
    expect(await list('source=kube-apiserver&name=viewed&outcome=success')).to.deep.equal([]);
  });

  it('hides no write whose sender chooses the id of an event of the service', async () => {
    const [known] = await list('source=service&event=UserDeleted');
    const name = known?.objectRef.name;
    await service.kubernetes.call('DELETE', `/apis/auth.platform.io/v1/users/${name}`, undefined, {
      'audit-id': `atrium-${known?.auditID}`,
    });
    const [event] = await eventually(
      () => list(`source=kube-apiserver&verb=delete&name=${name}`),
      ({ length }) => length === 1,
    );
    expect(event).to.deep.include({ outcome: 'failure', requestID: `atrium-${known?.auditID}` });
  });

  it('hides no request whose sender chooses the id of an event of the door', async () => {
    const [known] = await list('source=door&verb=delete&name=one');
    const chosen = { 'audit-id': `atrium-${known?.auditID}` };
    await service.kubernetes.call('DELETE', `${core}/configmaps/past`, undefined, chosen);
    const found = await eventually(
      () => list('source=kube-apiserver&verb=delete&name=past'),
      ({ length }) => length === 1,
    );
    expect(found[0]?.requestID).to.equal(chosen['audit-id']);
  });
});

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SqliteStore } from '@atrium/audit-store/sqlite-store.ts';
import { expect } from 'chai';
import { auditCounts, auditEventList } from '../../../src/activity/schema.ts';
import type { Person } from '../../support/api-server.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { startServer } from '../../support/server.ts';

const door = '/api/kubernetes';
const deployments = `${door}/apis/apps/v1/namespaces/shop/deployments`;
const labels = { app: 'cart' };
const deployment = (name: string) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec: {
    replicas: 2,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ name: 'cart', image: 'cart:1' }] } },
  },
});
const role = (name: string, ...rules: { apiGroups: string[]; resources: string[]; verbs: string[] }[]) => ({
  ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name }, rules },
});

/** Starts a service with a store in a temporary file. */
async function withStore() {
  const directory = await mkdtemp(join(tmpdir(), 'atrium-audit-'));
  const auditStore = await SqliteStore.open(join(directory, 'audit.db'));
  const server = await startServer({
    auditStore,
    hasWorkloads: true,
    objects: [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } },
      role(
        'editors',
        { apiGroups: ['apps'], resources: ['deployments', 'deployments/scale'], verbs: ['*'] },
        { apiGroups: [''], resources: ['secrets', 'configmaps'], verbs: ['get', 'list'] },
      ),
      clusterRoleBinding('editor', 'editors', { kind: 'User', name: 'alice' }),
      role('auditors', { apiGroups: ['auth.platform.io'], resources: ['audits'], verbs: ['list'] }),
      clusterRoleBinding('auditor', 'auditors', { kind: 'User', name: 'bob' }),
    ],
  });
  return {
    ...server,
    async stop() {
      await server.stop();
      await auditStore.stop();
      await rm(directory, { recursive: true });
    },
  };
}

describe('events of requests at the door', () => {
  const server = forSuite(withStore);
  const write = (method: string, path: string, as: Person, body?: unknown, headers = {}) =>
    server.request(path, { method, as, ...(body !== undefined && { body }), headers });
  const list = async (as: Person, query: Record<string, string>) => {
    const response = await server.request(`/auth/v1/audit?${new URLSearchParams(query)}`, { as });
    expect(response.status).to.equal(200);
    return auditEventList.parse(await response.json());
  };
  /** Waits for the events of a question, which are written after the answer. */
  const events = (count: number, as: Person, query: Record<string, string>) =>
    eventually(
      () => list(as, query),
      ({ items }) => items.length === count,
    );

  it('tell who scaled what, from how many and to how many', async () => {
    expect((await write('POST', deployments, 'alice', deployment('cart'))).status).to.equal(201);
    const patched = await write(
      'PATCH',
      `${deployments}/cart/scale`,
      'alice',
      { spec: { replicas: 5 } },
      {
        'content-type': 'application/merge-patch+json',
        'x-request-id': 'scale-1',
      },
    );
    expect(patched.status).to.equal(200);

    const { items, scope } = await events(2, 'bob', { namespace: 'shop', resource: 'deployments', name: 'cart' });
    expect(scope).to.equal('All');
    const [scaled, created] = items;
    expect(scaled).to.deep.include({
      cluster: 'local',
      source: 'door',
      verb: 'patch',
      objectRef: { apiGroup: 'apps', resource: 'deployments', subresource: 'scale', namespace: 'shop', name: 'cart' },
      responseStatus: { code: 200 },
      requestID: 'scale-1',
      changes: [{ field: 'spec.replicas', from: 2, to: 5 }],
    });
    expect(scaled?.user?.username).to.equal('alice');
    const narrower = { actor: 'alice', subresource: 'scale', text: 'CART scale' };
    expect((await list('bob', narrower)).items).to.deep.equal([scaled]);
    expect(created).to.deep.include({ verb: 'create', responseStatus: { code: 201 } });
  });

  it('report a scale to zero replicas and back, which the API server leaves out of a Scale', async () => {
    const type = { 'content-type': 'application/merge-patch+json' };
    expect((await write('POST', deployments, 'alice', deployment('idle'))).status).to.equal(201);
    for (const replicas of [0, 3]) {
      const answer = await write('PATCH', `${deployments}/idle/scale`, 'alice', { spec: { replicas } }, type);
      expect(((await answer.json()) as { spec: object }).spec).to.deep.equal(replicas === 0 ? {} : { replicas });
    }
    const { items } = await events(3, 'bob', { resource: 'deployments', name: 'idle' });
    expect(items.map(({ changes }) => changes)).to.deep.equal([
      [{ field: 'spec.replicas', from: 0, to: 3 }],
      [{ field: 'spec.replicas', from: 2, to: 0 }],
      undefined,
    ]);
  });

  it('tell refusals, and dry runs as such', async () => {
    expect((await write('DELETE', `${deployments}/cart`, 'carol')).status).to.equal(403);
    expect((await write('DELETE', `${deployments}/cart?dryRun=All`, 'alice')).status).to.equal(200);
    const { items } = await events(2, 'bob', { verb: 'delete', namespace: 'shop' });
    expect(items.map(({ user, responseStatus, dryRun }) => [user?.username, responseStatus?.code, dryRun])).to.deep.equal([
      ['alice', 200, true],
      ['carol', 403, undefined],
    ]);
    expect((await list('bob', { verb: 'delete', outcome: 'failure' })).items).to.have.length(1);
  });

  it('are in the namespace that they create, change or delete, like its other events', async () => {
    const rules = { apiGroups: [''], resources: ['namespaces'], verbs: ['*'] };
    await server.kubernetes.apply(role('owners', rules));
    await server.kubernetes.apply(clusterRoleBinding('owner', 'owners', { kind: 'User', name: 'alice' }));
    const audits = { apiGroups: ['auth.platform.io'], resources: ['audits'], verbs: ['list'] };
    const auditor = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: { name: 'auditor', namespace: 'shop' } };
    const { metadata } = auditor;
    await server.kubernetes.apply({ ...auditor, rules: [audits] });
    await server.kubernetes.apply({
      ...{ apiVersion: auditor.apiVersion, kind: 'RoleBinding', metadata },
      ...{
        subjects: [{ kind: 'User', name: 'nobody' }],
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'auditor' },
      },
    });
    const change = { metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'privileged' } } };
    const type = { 'content-type': 'application/merge-patch+json' };
    const namespaces = `${door}/api/v1/namespaces`;
    await eventually(
      () => write('POST', namespaces, 'alice', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } }),
      ({ status }) => status === 201,
    );
    for (const name of ['shop', 'other'])
      expect((await write('PATCH', `${namespaces}/${name}`, 'alice', change, type)).status).to.equal(200);
    const ofKind = { group: '', resource: 'namespaces' };
    expect((await events(2, 'bob', { ...ofKind, namespace: 'other', outcome: 'success' })).items.map(({ verb }) => verb)).to.deep.equal([
      'patch',
      'create',
    ]);
    const { scope, items } = await eventually(
      () => list('nobody', { ...ofKind, namespace: 'shop' }),
      (found) => found.items.length === 1,
    );
    const [labelled] = items;
    expect([scope, labelled?.objectRef]).to.deep.equal(['All', { apiGroup: '', resource: 'namespaces', namespace: 'shop', name: 'shop' }]);
    const [other] = (await list('bob', { namespace: 'other' })).items;
    const codes = [labelled, other].map((one) => server.request(`/auth/v1/audit/${one?.auditID}`, { as: 'nobody' }));
    expect((await Promise.all(codes)).map(({ status }) => status)).to.deep.equal([200, 404]);
  });

  it('tell reads of Secrets without a value, and no other reads', async () => {
    await server.kubernetes.apply({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'db', namespace: 'shop' },
      stringData: { key: 'tell-tale' },
    });
    await server.request(`${door}/api/v1/namespaces/shop/configmaps`, { as: 'alice' });
    expect((await server.request(`${door}/api/v1/namespaces/shop/secrets/db`, { as: 'alice' })).status).to.equal(200);
    const { items } = await events(1, 'bob', { resource: 'secrets' });
    expect(items[0]).to.deep.include({ verb: 'get', objectRef: { apiGroup: '', resource: 'secrets', namespace: 'shop', name: 'db' } });
    expect(JSON.stringify(items)).not.to.include('tell-tale');
    expect((await list('bob', { resource: 'configmaps' })).items).to.deep.equal([]);
  });

  it('are those of the caller for a caller who may not list audits, and are refused for another user', async () => {
    const own = await events(1, 'carol', {});
    expect(own.scope).to.equal('Own');
    expect(own.items.map(({ user }) => user?.username)).to.deep.equal(['carol']);
    const other = await server.request('/auth/v1/audit?actor=alice', { as: 'carol' });
    expect(other.status).to.equal(403);
    expect((await server.request('/auth/v1/audit')).status).to.equal(401);
  });

  it('are counted by user, verb, object and hour, for callers who may list audits; others count their own', async () => {
    const count = async (as: Person, query: Record<string, string>) => {
      const response = await server.request(`/auth/v1/audit/counts?${new URLSearchParams(query)}`, { as });
      expect(response.status).to.equal(200);
      return auditCounts.parse(await response.json());
    };
    const all = await list('bob', { namespace: 'shop' });
    const byActor = await count('bob', { by: 'actor', namespace: 'shop' });
    expect(byActor).to.deep.include({ kind: 'AuditCounts', by: 'actor', scope: 'All', total: all.items.length });
    expect(byActor).not.to.have.property('oldest');
    expect(byActor.items).to.deep.equal([
      { actor: 'alice', kind: 'User', count: all.items.length - 1, failures: 0, withToken: 0 },
      { actor: 'carol', kind: 'User', count: 1, failures: 1, withToken: 0 },
    ]);
    expect((await count('carol', { by: 'verb' })).items).to.deep.equal([{ verb: 'delete', count: 1, failures: 1 }]);
    const cart = { apiGroup: 'apps', resource: 'deployments', namespace: 'shop', name: 'cart' };
    expect((await count('carol', { by: 'object' })).items).to.deep.equal([{ object: cart, count: 1, failures: 1 }]);
    const hours = (await count('bob', { by: 'hour' })).items;
    expect(hours.map(({ hour }) => new Date(hour ?? '').getTime() % 3_600_000)).to.deep.equal(hours.map(() => 0));
    const refused = (await server.request('/auth/v1/audit/counts?by=hour&actor=alice', { as: 'carol' })).status;
    expect([refused, (await server.request('/auth/v1/audit/counts', { as: 'bob' })).status]).to.deep.equal([403, 400]);
  });

  it('come in pages that leave none out', async () => {
    const all = (await list('bob', {})).items.map(({ auditID }) => auditID);
    const paged: string[] = [];
    let page = await list('bob', { limit: '2' });
    for (;;) {
      paged.push(...page.items.map(({ auditID }) => auditID));
      if (page.metadata.continue === undefined) break;
      page = await list('bob', { limit: '2', continue: page.metadata.continue });
    }
    // Events of earlier requests may have come after the first answer.
    expect(paged.filter((id) => all.includes(id))).to.deep.equal(all);
  });

  it('tell the bytes of the body of the request and of the answer', async () => {
    const told = async (id: string, request: Promise<Response>) => {
      const answer = await (await request).text();
      const { items } = await events(1, 'bob', { request: id });
      return { bytes: [items[0]?.requestBytes, items[0]?.responseBytes], answer: answer.length };
    };
    const sent = JSON.stringify(deployment('bytes'));
    const headers = (id: string) => ({ 'content-type': 'application/json', 'x-request-id': id });
    const created = await told('bytes-1', write('POST', deployments, 'alice', sent, headers('bytes-1')));
    expect(created.bytes).to.deep.equal([sent.length, created.answer]);

    const deleted = await told('bytes-2', write('DELETE', `${deployments}/bytes`, 'alice', undefined, { 'x-request-id': 'bytes-2' }));
    expect(deleted.bytes).to.deep.equal([undefined, deleted.answer]);

    const value = 'x'.repeat(200_000);
    await server.kubernetes.apply({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'long', namespace: 'shop' },
      stringData: { value },
    });
    const secrets = `${door}/api/v1/namespaces/shop/secrets`;
    const streamed = await told('bytes-3', server.request(secrets, { as: 'alice', headers: { 'x-request-id': 'bytes-3' } }));
    expect(streamed.answer).to.be.greaterThan(200_000);
    expect(streamed.bytes).to.deep.equal([undefined, streamed.answer]);

    const refused = await told(
      'bytes-4',
      server.request(secrets, { method: 'POST', as: 'alice', body: '\0', headers: headers('bytes-4') }),
    );
    expect(refused.bytes).to.deep.equal([1, refused.answer]);
  });

  it('are refused for a parameter with an invalid value, which the answer names', async () => {
    for (const [name, value] of Object.entries({
      from: 'yesterday',
      outcome: 'bad',
      continue: 'x',
      limit: '-1',
      resource: 'x'.repeat(300),
    })) {
      const response = await server.request(`/auth/v1/audit?${name}=${value}`, { as: 'bob' });
      const { details } = (await response.json()) as { details?: { causes?: { field?: string }[] } };
      expect([response.status, details?.causes?.[0]?.field], name).to.deep.equal([400, name]);
    }
  });
});

describe('events in an installation without a store', () => {
  const server = forSuite(() => startServer());

  it('are answered with 404, and requests go on', async () => {
    const response = await server.request('/auth/v1/audit', { as: 'admin' });
    expect([response.status, ((await response.json()) as { message: string }).message]).to.deep.equal([
      404,
      'this installation keeps no audit events',
    ]);
    expect((await server.request(`${door}/api/v1/namespaces/nowhere`, { method: 'DELETE', as: 'admin' })).status).to.equal(404);
  });
});

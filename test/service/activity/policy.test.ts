import { SqliteStore } from '@atrium/audit-store/sqlite-store.ts';
import { expect } from 'chai';
import { auditEventList } from '../../../src/activity/schema.ts';
import { KeptBody } from '../../../src/proxy/kept-body.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';

const core = '/api/kubernetes/api/v1/namespaces/default';
const rbac = '/api/kubernetes/apis/rbac.authorization.k8s.io/v1';
const mergePatch = 'application/merge-patch+json';

async function withPolicy(policy?: object) {
  const auditStore = await SqliteStore.open(':memory:');
  const server = await startServer({ auditStore, ...(policy && { config: { audit: { policy } } }) });
  const list = async (query = '') => {
    const response = await server.request(`/auth/v1/audit?source=door&${query}`, { as: 'admin' });
    expect(response.status).to.equal(200);
    return auditEventList.parse(await response.json()).items;
  };
  return {
    ...server,
    /** Makes requests, and returns the events of all so far once that of the last one is there. */
    async events(...requests: [method: string, path: string, body?: unknown, contentType?: string][]) {
      for (const [method, path, body, contentType = 'application/json'] of requests) {
        const headers = { ...(body !== undefined && { 'content-type': contentType }) };
        await server.request(path, { method, as: 'admin', headers, ...(body !== undefined && { body }) });
      }
      // A write of RBAC has an event in each policy of these tests.
      await server.request(`${rbac}/clusterroles/last`, {
        method: 'DELETE',
        as: 'admin',
        headers: { 'x-request-id': `last-${requests.length}` },
      });
      await eventually(
        () => list(`request=last-${requests.length}`),
        ({ length }) => length > 0,
      );
      return (await list()).filter(({ objectRef: { name } }) => name !== 'last').toReversed();
    },
    async stop() {
      await server.stop();
      await auditStore.stop();
    },
  };
}

const clusterRole = (name: string, resource = 'pods') => ({
  ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name } },
  rules: [{ apiGroups: [''], resources: [resource], verbs: ['get'] }],
});
const configMap = (name: string, value: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { a: value } });

describe('an installation without an audit policy', () => {
  const server = forSuite(() => withPolicy());

  it('keeps the bodies of writes of RBAC that succeed, and no others', async () => {
    const body = clusterRole('readers');
    const events = await server.events(
      ['POST', `${rbac}/clusterroles`, body],
      ['POST', `${rbac}/clusterroles`, body],
      ['PATCH', `${rbac}/clusterroles/readers`, [{ op: 'remove', path: '/rules/0' }], 'application/json-patch+json'],
      ['POST', `${core}/configmaps`, configMap('plain', 'kept-nowhere')],
      ['POST', `${core}/secrets`, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'db' }, stringData: { a: 'tell-tale' } }],
    );
    expect(events.map(({ responseStatus, requestObject }) => [responseStatus?.code, requestObject])).to.deep.equal([
      [201, JSON.stringify(body)],
      [409, undefined],
      [200, '[{"op":"remove","path":"/rules/0"}]'],
      [201, undefined],
      [201, undefined],
    ]);
  });
});

describe('an audit policy', () => {
  const server = forSuite(() =>
    withPolicy({
      apiVersion: 'audit.k8s.io/v1',
      kind: 'Policy',
      omitStages: ['RequestReceived'],
      rules: [
        { level: 'None', resources: [{ resources: ['configmaps'], resourceNames: ['noise'] }] },
        { level: 'Metadata', verbs: ['list'], resources: [{ resources: ['configmaps'] }] },
        { level: 'RequestResponse', resources: [{ resources: ['configmaps', 'secrets', 'serviceaccounts/*'] }], namespaces: ['default'] },
        { level: 'Request', resources: [{ group: 'auth.platform.io' }] },
        { level: 'Metadata', userGroups: ['system:masters'], resources: [{ group: 'rbac.authorization.k8s.io' }] },
      ],
    }),
  );

  it('decides by its first rule that matches, and keeps no answer', async () => {
    const events = await server.events(
      ['PATCH', `${core}/configmaps/noise`, { data: { a: 'b' } }, mergePatch],
      ['POST', `${core}/configmaps`, configMap('kept', 'b')],
      ['PATCH', `${core}/configmaps/kept`, { data: { a: 'c' } }, mergePatch],
      ['GET', `${core}/configmaps/kept`],
      ['GET', `${core}/configmaps`],
      ['GET', '/api/kubernetes/api/v1/configmaps'],
      ['POST', `${rbac}/clusterroles`, clusterRole('plain')],
      ['DELETE', `${core}/pods/none`],
    );
    expect(events.map(({ verb, objectRef: { resource }, requestObject }) => [verb, resource, requestObject])).to.deep.equal([
      ['create', 'configmaps', JSON.stringify(configMap('kept', 'b'))],
      ['patch', 'configmaps', '{"data":{"a":"c"}}'],
      ['get', 'configmaps', undefined],
      ['list', 'configmaps', undefined],
      ['list', 'configmaps', undefined],
      ['create', 'clusterroles', undefined],
    ]);
    const told = server.logLines.filter((line) => line.includes('parts of audit.policy change nothing'));
    expect(told.map((line) => (JSON.parse(line) as { ignored: unknown }).ignored)).to.deep.equal([['omitStages', 'RequestResponse']]);
  });

  it('opens no body of a Secret, a token or a sealed kind, and none above 8 KiB', async () => {
    const token = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: ['tell-tale'] } };
    const session = { apiVersion: 'auth.platform.io/v1', kind: 'Session', metadata: { name: 's1' }, spec: { sealed: 'tell-tale' } };
    const group = { apiVersion: 'auth.platform.io/v1', kind: 'Group', metadata: { name: 'team' }, spec: { displayName: 'Team' } };
    const before = await server.events();
    const events = await server.events(
      ['POST', `${core}/secrets`, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'db' }, stringData: { a: 'tell-tale' } }],
      ['PATCH', `${core}/secrets/db`, { stringData: { a: 'tell-tale' } }, mergePatch],
      ['POST', `${core}/serviceaccounts/default/token`, token],
      ['POST', '/api/kubernetes/apis/auth.platform.io/v1/namespaces/default/sessions', session],
      ['POST', '/api/kubernetes/apis/auth.platform.io/v1/groups', group],
      ['POST', `${core}/configmaps`, configMap('large', 'x'.repeat(9_000))],
    );
    const added = events.slice(before.length);
    expect(added.map(({ objectRef: { resource } }) => resource)).to.deep.equal([
      ...['secrets', 'secrets', 'serviceaccounts', 'sessions', 'groups', 'configmaps'],
    ]);
    expect(JSON.stringify(events)).not.to.include('tell-tale');
    expect(added.map(({ requestObject }) => requestObject !== undefined)).to.deep.equal([false, false, false, false, true, false]);
  });

  it('opens no body for an application behind a Service or a Pod', () => {
    const target = { group: '', namespace: 'shop', name: 'grafana', prefix: undefined };
    for (const resource of ['services', 'pods']) {
      expect(KeptBody.of('POST', { ...target, resource, subresource: 'proxy' })).to.equal(undefined);
      expect(KeptBody.of('POST', { ...target, resource, subresource: '' })).to.be.instanceOf(KeptBody);
    }
  });
});

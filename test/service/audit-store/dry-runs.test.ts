import { expect } from 'chai';
import { auditEventList } from '../../../src/activity/schema.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { withAuditStore } from './installation.ts';

const core = '/api/kubernetes/api/v1/namespaces/default';
const mergePatch = 'application/merge-patch+json';
const options = { apiVersion: 'v1', kind: 'DeleteOptions' };
const asked = { ...options, dryRun: ['All'] };
const named = (kind: string, more: object = {}) => ({ apiVersion: 'v1', kind, metadata: { name: 'tried', labels: { a: 'b' } }, ...more });
const evicted = (deleteOptions?: object) => ({
  ...{ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'tried' } },
  ...(deleteOptions && { deleteOptions }),
});

describe('events of dry runs', () => {
  const service = forSuite(async () => {
    const policy = {
      ...{ apiVersion: 'audit.k8s.io/v1', kind: 'Policy' },
      rules: [{ level: 'Request', verbs: ['create', 'patch', 'delete', 'deletecollection'] }, { level: 'Metadata' }],
    };
    const started = await withAuditStore({ hasWorkloads: true, config: { audit: { policy } } });
    await started.startStore();
    return started;
  });
  let number = 0;
  /** Sends a request at the door, and returns its event with the code of the answer. */
  async function told(method: string, path: string, body?: object) {
    const id = `dry-run-${++number}`;
    const type = method === 'PATCH' ? mergePatch : 'application/json';
    const headers = { 'x-request-id': id, ...(body && { 'content-type': type }) };
    const { status } = await service.request(`${core}/${path}`, { method, as: 'admin', headers, ...(body && { body }) });
    const items = async () => {
      const response = await service.request(`/auth/v1/audit?request=${id}`, { as: 'admin' });
      return auditEventList.parse(await response.json()).items;
    };
    const [event] = await eventually(items, ({ length }) => length === 1);
    return { status, dryRun: event?.dryRun, hasBody: event?.requestObject !== undefined };
  }
  const isThere = async (plural: string) => (await service.request(`${core}/${plural}/tried`, { as: 'admin' })).status === 200;

  it('follow the body of a deletion, as the API server does, and never keep it', async () => {
    for (const [plural, kind] of [
      ['configmaps', 'ConfigMap'],
      ['secrets', 'Secret'],
    ] as const) {
      expect((await told('POST', plural, named(kind))).status).to.equal(201);
      const isTold = { status: 200, dryRun: true, hasBody: false };
      expect(await told('DELETE', `${plural}/tried`, asked)).to.deep.equal(isTold);
      expect(await told('DELETE', `${plural}/tried?dryRun=All`)).to.deep.equal(isTold);
      expect(await told('DELETE', `${plural}?labelSelector=a%3Db`, asked)).to.deep.equal(isTold);
      expect(await isThere(plural)).to.equal(true);

      // The API server ignores the query of a deletion with a body.
      const isDone = { status: 200, dryRun: undefined, hasBody: false };
      expect(await told('DELETE', `${plural}/tried?dryRun=All`, options)).to.deep.equal(isDone);
      expect(await isThere(plural)).to.equal(false);
      expect((await told('POST', plural, named(kind))).status).to.equal(201);
      const long = { ...options, padding: 'x'.repeat(9_000) };
      expect(await told('DELETE', `${plural}?labelSelector=a%3Db&dryRun=All`, long)).to.deep.equal(isDone);
      expect(await isThere(plural)).to.equal(false);
    }
  });

  it('follow both the body and the query of an eviction', async () => {
    const pod = named('Pod', { spec: { containers: [{ name: 'main', image: 'cart:1' }] } });
    await eventually(
      () => told('POST', 'pods', pod),
      ({ status }) => status === 201,
    );
    for (const [path, body] of [
      ['pods/tried/eviction', evicted({ dryRun: ['All'] })],
      ['pods/tried/eviction?dryRun=All', evicted()],
      ['pods/tried/eviction?dryRun=All', evicted({ gracePeriodSeconds: 0 })],
    ] as const)
      expect(await told('POST', path, body), path).to.deep.equal({ status: 201, dryRun: true, hasBody: true });
    expect(await isThere('pods')).to.equal(true);
    expect((await told('POST', 'pods/tried/eviction', evicted({ gracePeriodSeconds: 0 }))).dryRun).to.equal(undefined);
  });

  it('follow the query of other writes, and no parameter of a read or a connection', async () => {
    expect((await told('POST', 'secrets', named('Secret'))).status).to.equal(201);
    expect((await told('PATCH', 'secrets/tried?dryRun=All', { data: { a: 'Yg==' } })).dryRun).to.equal(true);
    for (const [method, path] of [
      ['GET', 'secrets/tried?dryRun=All'],
      ['GET', 'secrets?dryRun=All'],
      ['POST', 'pods/none/exec?command=ls&dryRun=All'],
      ['POST', 'services/none/proxy/sales?dryRun=All'],
    ] as const)
      expect((await told(method, path)).dryRun, path).to.equal(undefined);
  });

  it('leave out a token of a ServiceAccount, which the API server issues all the same', async () => {
    expect((await told('POST', 'serviceaccounts', named('ServiceAccount'))).status).to.equal(201);
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
    const path = 'serviceaccounts/tried/token?dryRun=All';
    expect(await told('POST', path, request)).to.deep.equal({ status: 201, dryRun: undefined, hasBody: false });
  });
});

/** Accounts that may write the Secrets of the service, on the embedded cluster and, with TEST_CLUSTER=real, on an API server. */
import { expect } from 'chai';
import { apiServer } from '../../support/api-server.ts';
import { clientOf } from '../../support/client-of.ts';
import { asService, eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { aUser, nameOf } from './a-user.ts';

const secrets = `/api/v1/namespaces/${serviceNamespace}/secrets`;
const merge = { 'content-type': 'application/merge-patch+json' };
const passwordType = 'auth.platform.io/password';

const secret = (name: string, more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: serviceNamespace, ...more },
  type: name.startsWith('user-password-') ? passwordType : 'Opaque',
  data: { hash: 'eA==' },
});

describe('the admission policy of Secrets', () => {
  const cluster = forSuite(() => apiServer());
  /** May do everything that RBAC can grant. */
  const admin = clientOf(cluster, 'admin');
  /** Writes Users and Secrets in the name of the service. */
  const service = clientOf(cluster, 'admin');
  const password = `user-password-${nameOf('jane@example.com')}`;

  before(async () => {
    await service.install();
    await eventually(
      () => admin.call('POST', `${secrets}?dryRun=All`, secret('user-password-probe')),
      ({ status }) => status === 403,
    );
    await service.apply(aUser('jane@example.com'));
    const { body } = await service.call('GET', `/apis/auth.platform.io/v1/users/${nameOf('jane@example.com')}`);
    const { name, uid } = (body as { metadata: { name: string; uid: string } }).metadata;
    const ownerReferences = [{ apiVersion: 'auth.platform.io/v1', kind: 'User', name, uid }];
    await service.apply(secret(password, { ownerReferences }), secret('atrium-keys'));
  });

  it('S5 lets no other account than the service write passwords and keys, whatever its rights', async () => {
    for (const [method, at, body, headers = {}] of [
      ['POST', secrets, secret('user-password-mine')],
      ['POST', secrets, { ...secret('mine'), type: passwordType }],
      ['POST', secrets, { ...secret(''), metadata: { generateName: 'user-password-', namespace: serviceNamespace }, type: passwordType }],
      ['PATCH', `${secrets}/${password}`, { data: { hash: 'eQ==' } }, merge],
      ['PATCH', `${secrets}/${password}`, { metadata: { ownerReferences: null } }, merge],
      ['PATCH', `${secrets}/${password}`, { metadata: { labels: { a: 'b' } } }, merge],
      ['PUT', `${secrets}/${password}`, secret(password)],
      ['DELETE', `${secrets}/${password}`, undefined],
      ['DELETE', `${secrets}?fieldSelector=metadata.name=${password}`, undefined],
      ['PATCH', `${secrets}/atrium-keys`, { data: { 'seal.jwks': 'eA==' } }, merge],
      ['PUT', `${secrets}/atrium-keys`, secret('atrium-keys')],
    ] as const) {
      const answer = await admin.call(method, at, body, headers);
      expect(answer.status, `${method} ${at} ${JSON.stringify(answer.body)}`).to.equal(403);
      expect(JSON.stringify(answer.body)).to.include('passwords and keys are written by the service alone');
    }
    expect((await admin.call('GET', `${secrets}/${password}`)).body).to.deep.include({ data: { hash: 'eA==' } });
    expect((await admin.call('GET', `${secrets}/atrium-keys`)).body).to.deep.include({ data: { hash: 'eA==' } });
    expect((await admin.call('GET', `${secrets}/mine`)).status).to.equal(404);
  });

  it('S5 lets other Secrets be written, and the keys be deleted', async () => {
    expect((await admin.call('POST', secrets, secret('tls'))).status).to.equal(201);
    expect((await admin.call('PATCH', `${secrets}/tls`, { data: { a: 'eA==' } }, merge)).status).to.equal(200);
    expect((await admin.call('DELETE', `${secrets}/tls`)).status).to.equal(200);
    const elsewhere = { ...secret('user-password-x'), metadata: { name: 'user-password-x', namespace: 'default' } };
    expect((await admin.call('POST', '/api/v1/namespaces/default/secrets', elsewhere)).status).to.equal(201);
    expect((await admin.call('DELETE', '/api/v1/namespaces/default/secrets/user-password-x')).status).to.equal(200);
    expect((await admin.call('DELETE', `${secrets}/atrium-keys`)).status).to.equal(200);
  });

  it('S5 lets the service and the Job of the first administrator write them', async () => {
    for (const account of ['atrium', 'atrium-first-admin']) {
      const headers = { ...asService, 'impersonate-user': `system:serviceaccount:${serviceNamespace}:${account}` };
      const name = `user-password-${account}`;
      expect((await admin.call('POST', secrets, secret(name), headers)).status).to.equal(201);
      expect((await admin.call('PATCH', `${secrets}/${name}`, { data: { hash: 'eQ==' } }, { ...headers, ...merge })).status).to.equal(200);
      expect((await admin.call('DELETE', `${secrets}/${name}`, undefined, headers)).status).to.equal(200);
    }
  });

  it('S5 lets the garbage collector delete the password of a deleted user', async () => {
    await service.remove(`/apis/auth.platform.io/v1/users/${nameOf('jane@example.com')}`);
    await eventually(
      () => admin.call('GET', `${secrets}/${password}`),
      ({ status }) => status === 404,
    );
  });

  it('S5 lets the garbage collector take the owner of a password away, where dependents are to stay', async () => {
    await service.apply(aUser('orphan@example.com'));
    const { body } = await service.call('GET', `/apis/auth.platform.io/v1/users/${nameOf('orphan@example.com')}`);
    const { name, uid } = (body as { metadata: { name: string; uid: string } }).metadata;
    const left = `user-password-${name}`;
    await service.apply(secret(left, { ownerReferences: [{ apiVersion: 'auth.platform.io/v1', kind: 'User', name, uid }] }));
    const options = { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Orphan' };
    await service.call('DELETE', `/apis/auth.platform.io/v1/users/${name}`, options);
    await eventually(
      () => admin.call('GET', `/apis/auth.platform.io/v1/users/${name}`),
      ({ status }) => status === 404,
    );
    expect((await admin.call('GET', `${secrets}/${left}`)).body).to.not.have.nested.property('metadata.ownerReferences');
  });
});

/** Machine users: who may make them and set what they trust, and that they have no login. */
import { expect } from 'chai';
import { before, describe, it } from 'mocha';
import type { Person } from '../../support/api-server.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding, grant } from '../../support/grants.ts';
import { refusalOf, startTokenServer } from '../tokens/tokens.ts';
import { aUser, nameOf } from '../users/a-user.ts';
import { aMachine, audience, branch } from './workloads.ts';

const users = '/apis/auth.platform.io/v1/users';
const trusted = [{ issuer: 'https://ci.example.com', audience, claims: { sub: branch } }];

describe('a machine user', () => {
  const server = forSuite(() => startTokenServer({ objects: [aMachine('old', trusted), aUser('person')] }));
  /** Sends a request to the Kubernetes API. `manager` and `alice` may write all users; alice may act as two machine users. */
  async function send(as: Person, method: string, path: string, body?: object) {
    const headers = { 'Content-Type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' };
    const response = await server.request(`/api/kubernetes${path}`, { method, as, headers, ...(body && { body }) });
    return { status: response.status, text: await response.text() };
  }

  before(async () => {
    for (const person of ['manager', 'alice'] as const) await grant(server.kubernetes, person, 'atrium-users-admin');
    await server.kubernetes.apply(
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata: { name: 'act-as-ci' },
        rules: [{ apiGroups: [''], resources: ['users'], verbs: ['impersonate'], resourceNames: ['machine:ci', 'machine:api'] }],
      },
      clusterRoleBinding('act-as-ci', 'act-as-ci', { kind: 'User', name: 'alice' }),
    );
    for (const person of ['manager', 'alice'] as const)
      await eventually(
        () => send(person, 'GET', users),
        ({ status }) => status === 200,
      );
  });

  const create = (as: Person, spec: object) => server.request('/auth/v1/users', { method: 'POST', as, body: { spec } });
  const patch = (as: Person, email: string, spec: object) =>
    server.request(`/auth/v1/users/${nameOf(email)}`, {
      method: 'PATCH',
      as,
      headers: { 'Content-Type': 'application/merge-patch+json' },
      body: { spec },
    });

  it('is made and changed with kubectl by callers alone who may act as it', async () => {
    const refused = await send('manager', 'POST', users, aMachine('ci', trusted));
    expect([refused.status, refused.text].join(' ')).to.match(/^403 .*that needs the verb impersonate on that user/);
    expect((await send('alice', 'POST', users, aMachine('ci', trusted))).status).to.equal(201);
    const other = [{ ...trusted[0], claims: { sub: 'repo:evil/shop:ref:refs/heads/main' } }];
    const path = `${users}/${nameOf('ci')}`;
    expect((await send('manager', 'PATCH', path, { spec: { federation: other } })).status).to.equal(403);
    expect((await send('manager', 'PATCH', path, { spec: { federation: null } })).status).to.be.oneOf([403, 422]);
    expect((await send('manager', 'PATCH', path, { spec: { username: 'Pipeline' } })).status).to.equal(200);
    expect((await send('alice', 'PATCH', path, { spec: { federation: other } })).status).to.equal(200);
  });

  it('never becomes a person, nor a person a machine', async () => {
    const federation = { spec: { federation: trusted } };
    const source = { connector_type: 'machine', connector_id: 'machine', connector_name: 'Machine' };
    for (const spec of [federation.spec, { ...federation.spec, ...source }, source])
      expect((await send('alice', 'PATCH', `${users}/${nameOf('person')}`, { spec })).status).to.be.oneOf([403, 422]);
    const local = { connector_type: 'local', connector_id: 'local', connector_name: 'Local', federation: null };
    expect((await send('alice', 'PATCH', `${users}/${nameOf('old')}`, { spec: local })).status).to.be.oneOf([403, 422]);
  });

  it('is made and changed by the API by callers alone who may act as it', async () => {
    const spec = { email: 'api', federation: trusted };
    expect((await refusalOf(await create('manager', spec))).code).to.equal(403);
    const made = await create('alice', spec);
    const text = await made.text();
    expect(made.status, text).to.equal(201);
    const { metadata, spec: stored, status } = JSON.parse(text) as { metadata: { name: string }; spec: object; status: object };
    expect(metadata.name).to.equal(nameOf('api'));
    expect(stored).to.deep.include({ connector_type: 'machine', federation: trusted });
    expect(status).to.include({ phase: 'Normal', subjectName: 'machine:api' });
    expect(status).not.to.have.property('passwordChangedTime');

    const other = [{ ...trusted[0], once: true }];
    expect((await refusalOf(await patch('manager', 'api', { federation: other }))).code).to.equal(403);
    const changed = await patch('alice', 'api', { federation: other });
    expect(changed.status, await changed.text()).to.equal(200);
    expect((await refusalOf(await patch('alice', 'person', { federation: other }))).details?.causes[0]).to.include({
      field: 'spec.federation',
    });
    expect((await refusalOf(await patch('alice', 'api', { password: 'correct horse battery' }))).code).to.be.oneOf([403, 422]);
  });

  for (const [spec, field] of [
    [{ federation: [] }, 'spec.federation'],
    [{ federation: trusted, password: 'correct horse battery' }, 'spec.password'],
    [{ federation: [{ ...trusted[0], claims: {} }] }, 'spec.federation[0].claims'],
    [{ federation: [{ ...trusted[0], claims: { sub: ['a'] } }] }, 'spec.federation[0].claims.sub'],
    [{ federation: [{ ...trusted[0], claims: { sub: 'repo:acme/*-x' } }] }, 'spec.federation[0].claims.sub'],
    [{ federation: [{ issuer: 'https://ci.example.com', claims: { sub: 'a' } }] }, 'spec.federation[0].audience'],
    [{ federation: Array.from({ length: 11 }, () => trusted[0]) }, 'spec.federation'],
    [{}, 'spec.password'],
  ] as [object, string][])
    it(`is refused at ${field}: ${JSON.stringify(spec).slice(0, 90)}`, async () => {
      const response = await create('alice', { email: 'api-2', ...spec });
      const { code, details } = await refusalOf(response);
      expect([code, details?.causes.map((cause) => cause.field)]).to.deep.equal([422, [field]]);
    });

  it('gets its name and phase from the controller', async () => {
    const found = await eventually(
      () => server.kubernetes.call('GET', `${users}/${nameOf('old')}`),
      ({ body }) => (body as { status?: { subjectName?: string } }).status?.subjectName !== undefined,
    );
    expect((found.body as { status: object }).status).to.include({ subjectName: 'machine:old', phase: 'Normal' });
  });
});

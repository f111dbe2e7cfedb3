import { expect } from 'chai';
import { z } from 'zod';
import { ApiClient } from './api-client.ts';
import { eventually } from './eventually.ts';
import { suiteWorkspace } from './workspace.ts';

const whoAmI = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const selfReview = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };

/** Header of a JSON Web Token without a signature. */
const unsigned = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url');

const tokenRequest = z.object({ status: z.object({ token: z.string().regex(/^[\w-]+\.[\w-]+\.[\w-]+$/) }) });
const tokenOf = (body: unknown) => tokenRequest.parse(body).status.token;

function claimsOf(token: string): Record<string, unknown> {
  return z.record(z.string(), z.unknown()).parse(JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()));
}

describe('tokens of service accounts', () => {
  const { workspace, admin } = suiteWorkspace();
  const clients: ApiClient[] = [];
  let tokens: string;
  let accounts: string;
  before(async () => {
    accounts = `/api/v1/namespaces/${workspace.namespace}/serviceaccounts`;
    await admin.create(accounts, { metadata: { name: 'robot' } });
    tokens = `${accounts}/robot/token`;
  });
  after(async () => {
    for (const client of clients) await client.close();
  });

  const withToken = (token: string) => {
    const client = new ApiClient(workspace.server, token);
    clients.push(client);
    return client;
  };
  const request = (spec: Record<string, unknown> = {}) =>
    admin.post(tokens, { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec });

  it('are made on request, with the audience and the expiry that were asked for', async () => {
    const answer = await request({ expirationSeconds: 600 });

    expect(answer.status).to.equal(201);
    expect(answer.body).to.include({ kind: 'TokenRequest', apiVersion: 'authentication.k8s.io/v1' });
    expect(answer.body).to.have.nested.property('spec.expirationSeconds', 600);
    expect(answer.body).to.have.nested.property('spec.audiences').that.has.length(1);
    const claims = claimsOf(tokenOf(answer.body));
    expect(claims.sub).to.equal(`system:serviceaccount:${workspace.namespace}:robot`);
    expect(Number(claims.exp) - Number(claims.iat)).to.equal(600);
    expect(claims.aud).to.be.an('array');
    expect(claims['kubernetes.io']).to.have.nested.property('serviceaccount.name', 'robot');
  });

  it('are good for an hour when nothing is asked for', async () => {
    expect((await request()).body).to.have.nested.property('spec.expirationSeconds', 3600);
  });

  it('make the caller the service account, with its uid and groups', async () => {
    const account = await admin.read(`${accounts}/robot`);
    const robot = withToken(tokenOf((await request()).body));
    const answer = await robot.post(whoAmI, selfReview);

    expect(answer.status).to.equal(201);
    expect(answer.body)
      .to.have.nested.property('status.userInfo')
      .that.deep.includes({
        username: `system:serviceaccount:${workspace.namespace}:robot`,
        uid: account.metadata.uid,
        groups: ['system:serviceaccounts', `system:serviceaccounts:${workspace.namespace}`, 'system:authenticated'],
      });
  });

  it('carry the permissions of the service account', async () => {
    const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${workspace.namespace}`;
    await admin.create(`${rbac}/roles`, {
      metadata: { name: 'robot' },
      rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }],
    });
    await admin.create(`${rbac}/rolebindings`, {
      metadata: { name: 'robot' },
      subjects: [{ kind: 'ServiceAccount', name: 'robot', namespace: workspace.namespace }],
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'robot' },
    });
    const robot = withToken(tokenOf((await request()).body));

    await eventually(async () => expect((await robot.get(workspace.configMaps)).status).to.equal(200));
    expect((await robot.get('/api/v1/configmaps')).status).to.equal(403);
  });

  it('are refused here when they are meant for another audience', async () => {
    const token = tokenOf((await request({ audiences: ['elsewhere'] })).body);

    expect((await withToken(token).get('/version')).status).to.equal(401);
    const review = (spec: Record<string, unknown>) =>
      admin.post('/apis/authentication.k8s.io/v1/tokenreviews', { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec });
    const there = await review({ token, audiences: ['elsewhere'] });
    expect(there.body).to.have.nested.property('status.authenticated', true);
    expect(there.body).to.have.nested.property('status.audiences').that.deep.equals(['elsewhere']);
    expect((await review({ token })).body).not.to.have.nested.property('status.authenticated', true);
  });

  it('are refused with a signature that is not ours', async () => {
    const [header, claims] = tokenOf((await request()).body).split('.');
    for (const forged of [`${header}.${claims}.`, `${header}.${claims}.${'A'.repeat(342)}`, `${unsigned}.${claims}.`]) {
      expect((await withToken(forged).get('/version')).status).to.equal(401);
    }
  });

  it('die with their service account, also when one is made again under its name', async () => {
    const { metadata } = await admin.create(accounts, { metadata: { name: 'mortal' } });
    const answer = await admin.post(`${accounts}/mortal/token`, { spec: {} });
    await admin.delete(`${accounts}/mortal`);
    const reborn = await admin.create(accounts, { metadata: { name: 'mortal' } });
    expect(reborn.metadata.uid).not.to.equal(metadata.uid);

    // A server watches the accounts, and may cache a verified token for some seconds.
    const mortal = withToken(tokenOf(answer.body));
    await eventually(async () => expect((await mortal.get('/version')).status).to.equal(401));
  });

  it('are not made for less than ten minutes, nor for an account that is not there', async () => {
    const short = await request({ expirationSeconds: 60 });
    const missing = await admin.post(`${accounts}/missing/token`, { spec: {} });

    expect(short.status).to.equal(422);
    expect(short.body).to.have.nested.property('details.causes[0].field', 'spec.expirationSeconds');
    expect(missing.status).to.equal(404);
    expect(missing.body).to.have.property('message', 'serviceaccounts "missing" not found');
  });
});

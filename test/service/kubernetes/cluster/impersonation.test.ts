import { readFile } from 'node:fs/promises';
import type { Bearer, Identity } from '@atrium/http/caller.ts';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { AccessReviews } from '@atrium/kubernetes/access.ts';
import type { Connection } from '@atrium/kubernetes/connection.ts';
import { IdentityCache } from '@atrium/kubernetes/identity.ts';
import { KubernetesClient } from '@atrium/kubernetes/kubernetes-client.ts';
import { expect } from 'chai';
import { parseAllDocuments } from 'yaml';
import {
  type Answer,
  FakeApiServer,
  failureOf,
  forever,
  inTurn,
  json,
  status,
  statusBody,
} from '../../../../packages/kubernetes/test/fake-api-server.ts';
import { apiServer } from '../../../support/api-server.ts';
import { type ClusterAdmin, type Manifest, serviceNamespace } from '../../../support/cluster-admin.ts';
import { forSuite } from '../../../support/for-suite.ts';
import { clusterRoleBinding } from '../../../support/grants.ts';
import { connectionWith, install } from '../../../support/installed-cluster.ts';

const jane: Identity = { name: 'jane@example.com', uid: '', groups: [], extra: {} };
let count = 0;
const acting = (identity: Partial<Identity>): Bearer => {
  count += 1;
  return { token: 'token-of-jane', hash: `acting-${count}`, actAs: { ...jane, ...identity } };
};
const call = () => ({ call: 'get configmaps', method: 'GET', path: '/api/v1/namespaces/shop/configmaps/logo', signal: forever() }) as const;
const ok: Answer = (_request, response) => json(response, 200, {});

describe('a call in the name of a user', () => {
  const server = forSuite(() => new FakeApiServer().start());
  let client: KubernetesClient;
  /** Credentials of the service, one after the other. */
  let credentials: string[];

  before(async () => {
    const connection: Connection = {
      server: server.url,
      tls: {},
      namespace: serviceNamespace,
      authorization: async () => credentials[0],
      discardAuthorization: () => void credentials.shift(),
    };
    client = new KubernetesClient({ connection, requestTimeoutMs: 60_000, metrics: new Metrics() });
  });
  beforeEach(() => {
    credentials = ['Bearer ours', 'Bearer ours anew'];
    server.requests.length = 0;
    server.answer(ok);
  });
  after(async () => {
    await client.close();
  });

  const send = (identity: Partial<Identity>) => client.asCaller(acting(identity)).request(call());
  const sent = () =>
    Object.fromEntries(
      Object.entries(server.requests[0]?.headersDistinct ?? {}).filter(([name]) => /^(impersonate-|authorization)/.test(name)),
    );

  it("carries the service's credential, name, uid, and each group and extra in a header of its own; never the caller's token", async () => {
    await send({ uid: 'u-1', groups: ['dev', 'on, call'], extra: { scopes: ['a', 'b'], 'Example.com/Team (x)': ['blue'], none: [] } });

    expect(sent()).to.deep.equal({
      authorization: ['Bearer ours'],
      'impersonate-user': ['jane@example.com'],
      'impersonate-uid': ['u-1'],
      'impersonate-group': ['dev', 'on, call'],
      'impersonate-extra-scopes': ['a', 'b'],
      'impersonate-extra-example.com%2fteam%20%28x%29': ['blue'],
    });
    expect(JSON.stringify(server.requests[0]?.headers)).not.to.contain('token-of-jane');
  });

  it('carries no group of Kubernetes itself', async () => {
    await send({ groups: ['system:masters', 'dev', 'system:authenticated', 'system:', 'kubeadm:cluster-admins', 'kubeadm:'] });

    expect(sent()).to.include.deep.keys('impersonate-user').and.to.have.deep.property('impersonate-group', ['dev']);
  });

  it('is not made in a name of Kubernetes itself', async () => {
    for (const name of ['system:admin', 'system:serviceaccount:kube-system:default', 'system:anonymous', 'system:']) {
      expect(await refusalOf({ name }), name).to.have.nested.property('status.code', 401);
    }
    expect(server.requests).to.deep.equal([]);
  });

  it('is not made with a value that could end its header or arrive as another header', async () => {
    const hostile = [
      'x\r\nImpersonate-Group: system:masters',
      'x\nImpersonate-User: system:admin',
      'x\r',
      'x\0',
      'x\u007f',
      'x\u0085',
      ' system:masters',
      '\tsystem:masters',
      '\u00a0system:masters',
      'dev ',
      'x\ud800',
      '',
    ];
    for (const value of hostile) {
      const which = JSON.stringify(value);
      expect(await refusalOf({ name: value }), `name ${which}`).to.have.nested.property('status.code', 401);
      expect(await refusalOf({ groups: ['dev', value] }), `group ${which}`).to.have.nested.property('status.code', 401);
      expect(await refusalOf({ extra: { scopes: [value] } }), `extra ${which}`).to.have.nested.property('status.code', 401);
      if (value !== '') expect(await refusalOf({ uid: value }), `uid ${which}`).to.have.nested.property('status.code', 401);
    }
    expect(await refusalOf({ extra: { '': ['a'] } })).to.have.nested.property('status.code', 401);
    expect(await refusalOf({ extra: { '\udfff': ['a'] } })).to.have.nested.property('status.code', 401);
    expect(server.requests).to.deep.equal([]);
  });

  it('cannot be made another by the name of an extra', async () => {
    await send({ extra: { 'x\r\nImpersonate-Group: system:masters\r\nY': ['a'], 'x: y': ['b'] } });

    expect(Object.keys(sent()).sort()).to.deep.equal([
      'authorization',
      'impersonate-extra-x%0d%0aimpersonate-group%3a%20system%3amasters%0d%0ay',
      'impersonate-extra-x%3a%20y',
      'impersonate-user',
    ]);
  });

  it('is repeated with a newly read credential if the credential was refused, and is 503 if that does not help', async () => {
    const refused: Answer = (_request, response) => status(response, 401, 'Unauthorized');
    server.answer(inTurn(refused, ok));
    await send({});
    expect(server.requests.map(({ headers }) => headers.authorization)).to.deep.equal(['Bearer ours', 'Bearer ours anew']);

    credentials = ['Bearer ours', 'Bearer ours anew'];
    server.answer(refused);
    expect(await failureOf(send({}))).to.have.nested.property('status.code', 503);
  });

  it("answers 403 for the caller's permissions, and 503 if the service may not impersonate the caller", async () => {
    const about =
      (message: string): Answer =>
      (_request, response) =>
        json(response, 403, statusBody(403, 'Forbidden', message));
    server.answer(
      about('configmaps "logo" is forbidden: User "jane" cannot get resource "configmaps" in API group "" in the namespace "shop"'),
    );
    expect(await failureOf(send({}))).to.have.nested.property('status.code', 403);

    for (const verb of ['impersonate', 'impersonate:user-info', 'impersonate-on:user-info:create']) {
      server.answer(about(`users "jane" is forbidden: User "ours" cannot ${verb} resource "users" in API group "" at the cluster scope`));
      expect(await failureOf(send({})), verb).to.have.nested.property('status.code', 503);
    }
  });

  it('is refused if an API server answers as if the service itself had asked', async () => {
    const identities = new IdentityCache({ apiServer: client, metrics: new Metrics(), now: () => new Date() });
    const review =
      (username: string): Answer =>
      (_request, response) =>
        json(response, 201, { status: { userInfo: { username } } });
    server.answer(review('system:serviceaccount:atrium-system:atrium'));
    const caller = acting({});
    expect(await failureOf(identities.identify(caller, forever()))).to.have.nested.property('status.code', 503);

    server.answer(review('jane@example.com'));
    expect((await identities.identify(caller, forever())).identity.name).to.equal('jane@example.com');
  });

  const refusalOf = (identity: Partial<Identity>) => failureOf((async () => send(identity))());
});

describe('a call in the name of a user, on a cluster', () => {
  const cluster = forSuite(() => apiServer());
  let kubernetes: ClusterAdmin;
  let client: KubernetesClient;
  let identities: IdentityCache;

  before(async () => {
    kubernetes = await install(cluster);
    const token = await kubernetes.serviceToken();
    const connection: Connection = connectionWith(token, cluster);
    client = new KubernetesClient({ connection, requestTimeoutMs: 60_000, metrics: new Metrics() });
    identities = new IdentityCache({ apiServer: client, metrics: new Metrics(), now: () => new Date() });
  });
  after(async () => {
    await kubernetes.remove('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/atrium-impersonation');
    await client.close();
    await kubernetes.close();
  });

  it('is not possible with the rights that the service has by default', async () => {
    expect(await failureOf(identities.identify(acting({}), forever()))).to.have.nested.property('status.code', 503);
  });

  it('has the rights of that name and its groups and no others, with impersonation.yaml', async () => {
    const text = await readFile(new URL('../../../../deploy/manifests/impersonation.yaml', import.meta.url), 'utf8');
    await kubernetes.apply(...parseAllDocuments(text).map((document): Manifest => document.toJS()));
    await kubernetes.apply(clusterRoleBinding('test-impersonated-viewers', 'atrium-users-view', { kind: 'Group', name: 'Büro, Süd' }));
    const access = new AccessReviews({ apiServer: client, accessCacheMs: 1000, metrics: new Metrics(), now: () => new Date() });
    const mayList = (bearer: Bearer) => access.can(bearer, { verb: 'list', group: 'auth.platform.io', resource: 'users' }, forever());
    const member = acting({ uid: 'u-1', groups: ['Büro, Süd', 'system:masters'] });

    expect((await identities.identify(member, forever())).identity).to.deep.equal({
      name: 'jane@example.com',
      uid: 'u-1',
      groups: ['Büro, Süd', 'system:authenticated'],
      extra: {},
    });
    expect([await mayList(member), await mayList(acting({ groups: ['Süd'] }))]).to.deep.equal([true, false]);
    // The group system:masters is not impersonated, so the member may not delete.
    expect(await access.can(member, { verb: 'delete', group: '', resource: 'nodes' }, forever())).to.equal(false);
    await kubernetes.remove('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/test-impersonated-viewers');
  });
});

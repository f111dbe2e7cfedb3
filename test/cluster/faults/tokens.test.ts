/** Tokens that become invalid while they are used: the service's own, and a caller's. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inClusterConnection } from '@atrium/kubernetes/connection.ts';
import { isRecord } from '@atrium/objects/reader.ts';
import { expect } from 'chai';
import { aUser } from '../../service/users/a-user.ts';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { ask, expectFollows, nativeUsers, usersList, whenReady } from './asking.ts';
import { type Service, theRealCluster } from './real-cluster.ts';

const reviews = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const secrets = `/api/v1/namespaces/${serviceNamespace}/secrets`;

describe('FLT-08 a token that is refused from one moment on', () => {
  const cluster = theRealCluster();

  /** Creates a token of a service account that is bound to a Secret, and valid only while it exists. */
  async function boundToken(account: string, name: string): Promise<string> {
    const { admin } = cluster;
    const object = { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: serviceNamespace } };
    await admin.apply(object);
    const { body } = await admin.call('POST', `/api/v1/namespaces/${serviceNamespace}/serviceaccounts/${account}/token`, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: 3600, boundObjectRef: { apiVersion: 'v1', kind: 'Secret', name } },
    });
    if (!isRecord(body) || !isRecord(body.status) || typeof body.status.token !== 'string') throw new Error(JSON.stringify(body));
    return body.status.token;
  }

  /** Waits until a token is refused. The API server caches accepted tokens for ten seconds. */
  const whenRefused = (token: string) =>
    eventually(
      () =>
        ask(cluster.control, reviews, {
          method: 'POST',
          token,
          body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
        }),
      ({ status }) => status === 401,
    );

  describe('the service’s own', () => {
    const proxy = forSuite(() => cluster.proxy());
    let service: Service;
    let directory: string;
    const old = 'token-of-the-old-pod';
    const write = (name: string, text: string) => writeFile(join(directory, name), text);

    before(async () => {
      directory = await mkdtemp(join(tmpdir(), 'atrium-service-account-'));
      await write('ca.crt', cluster.control.certificateAuthority);
      await write('namespace', serviceNamespace);
      await write('token', await boundToken('atrium', old));
      const environment = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: String(proxy.port) };
      service = await cluster.service({ connection: await inClusterConnection({ directory, environment }) });
      await whenReady(service, 'identity-provider');
    });
    after(async () => {
      await service?.stop();
      await rm(directory, { recursive: true });
    });

    it('FLT-08 is read again from its file, and nothing is missed', async () => {
      await expectFollows(cluster, service);
      const oldToken = (await ownTokens())[0] ?? '';
      const newToken = await boundToken('atrium', 'token-of-the-new-pod');
      await write('token', newToken);
      await cluster.admin.remove(`${secrets}/${old}`);
      await whenRefused(oldToken);
      proxy.forgetRequests();
      // The open watches end, and the next ones would be refused with the old token.
      proxy.cut(({ isWatch }) => isWatch);
      await expectFollows(cluster, service);
      await whenReady(service, 'identity-provider');
      expect((await ask(service, usersList, { token: cluster.token('viewer') })).status).to.equal(200);
      expect(await ownTokens()).to.include(newToken);
    });

    it('FLT-08 is missing or wrong: 503 for callers, nothing else, until there is a good one', async () => {
      const good = await boundToken('atrium', 'token-of-the-newest-pod');
      const unread = (await ownTokens()).at(-1) ?? '';
      await cluster.admin.remove(`${secrets}/token-of-the-new-pod`);
      await write('token', 'not-a-token');
      await whenRefused(unread);
      proxy.cut(({ isWatch }) => isWatch);
      await eventually(
        async () => (await ask({ url: service.metricsURL }, '/readyz?verbose')).text,
        (report) => /^\[-\]users failed \(not critical\): 401/m.test(report),
      );
      // The API server answers known callers itself, and callers with the right to read users may get cached ones.
      expect((await ask(service, nativeUsers, { token: cluster.token('viewer') })).status).to.equal(200);
      expect((await ask(service, usersList, { token: cluster.token('viewer') })).status).to.be.oneOf([200, 503]);
      expect((await ask(service, usersList, { token: cluster.token('nobody') })).status).to.equal(403);
      await write('token', good);
      await expectFollows(cluster, service);
    });

    /** Returns the service's tokens in the order of their first use. */
    const ownTokens = async () => [
      ...new Set(proxy.requests.filter(({ isWatch }) => isWatch).map(({ headers }) => headers.authorization?.replace('Bearer ', ''))),
    ];
  });

  it('FLT-08 is answered 401 between the pages of a list if it is the caller’s', async () => {
    const { admin, control } = cluster;
    const account = { name: 'lister', namespace: serviceNamespace };
    await admin.apply({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: account });
    await admin.apply({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'lister' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'atrium-users-view' },
      subjects: [{ kind: 'ServiceAccount', ...account }],
    });
    await admin.apply(...['page-1', 'page-2', 'page-3'].map((name) => aUser(`${name}@example.com`)));
    const service = await cluster.service({ connection: control.url });
    try {
      await whenReady(service, 'identity-provider');
      const token = await boundToken('lister', 'lister-until-now');
      const next: string[] = [];
      for (const path of [`${nativeUsers}?limit=1`, '/auth/v2/users?limit=1']) {
        const first = await eventually(
          () => ask(service, path, { token }),
          ({ status }) => status === 200,
        );
        if (!isRecord(first.body) || !isRecord(first.body.metadata)) throw new Error(first.text);
        next.push(`${path}&continue=${encodeURIComponent(String(first.body.metadata.continue))}`);
      }
      for (const path of next) expect((await ask(service, path, { token })).status).to.equal(200);
      await admin.remove(`${secrets}/lister-until-now`);
      await whenRefused(token);
      for (const path of next) {
        const reply = await ask(service, path, { token });
        expect(reply.status, path).to.equal(401);
        expect(reply.header('www-authenticate')).to.equal('Bearer realm="atrium", error="invalid_token"');
      }
    } finally {
      await service.stop();
    }
  });
});

import { hash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite, needsNoStop } from '../../support/for-suite.ts';
import { outputOf } from './cluster.ts';
import { firstAdmin, namespace, packagedChart, publicURL, Release, release, repository } from './release.ts';
import { sharedCluster } from './shared-cluster.ts';

const ada = { email: firstAdmin, password: 'correct horse battery' };

describe('helm install of the packaged chart', () => {
  const cluster = forSuite(sharedCluster, needsNoStop);
  const atrium = forSuite(
    () => Release.prepare(cluster),
    (it) => it.destroy(),
  );
  let directory: string;
  let notes: string;
  let given: string;

  before(async () => {
    cluster.images.set(`${repository}:1.0.0`, cluster.image);
    directory = await mkdtemp(join(tmpdir(), 'atrium-artifacts-'));
    notes = outputOf(await atrium.install(await packagedChart(directory)));
    const [command = ''] = /kubectl .* get secret .*/.exec(notes) ?? [];
    given = outputOf(await cluster.shell(command)).trim();
    await atrium.settles();
  });
  after(() => rm(directory, { recursive: true }));

  /** Returns the names of the Pods that logged a request. */
  const reached = (requestID: string) =>
    atrium.pods.filter(({ log }) => log.includes(`"requestId":"${requestID}"`)).map(({ name }) => name);

  describe('with default values and a first administrator', () => {
    it('prints the login address and a command that reads the password', () => {
      expect(notes).to.include(`Open ${publicURL}`);
      expect(notes).to.include(`Log in as ${firstAdmin}`);
      expect(given).to.match(/^\S{20,}$/);
    });

    it('runs two replicas in a namespace that admits only restricted Pods', async () => {
      const loose = await atrium.kubectl('run', 'loose', `--image=${repository}:1.0.0`);
      expect(loose.stderr).to.include('violates PodSecurity "restricted');

      const { stdout } = await atrium.kubectl('get', 'deployment', release, '--output', 'jsonpath={.status.readyReplicas}');
      expect(stdout).to.equal('2');
    });

    it('passes helm test', async () => {
      expect(outputOf(await atrium.test())).to.match(/Phase:\s+Succeeded/);
    });

    it('leaves no objects of the job that created the administrator', async () => {
      const { stdout } = await atrium.kubectl('get', 'jobs,serviceaccounts,roles,clusterroles,clusterrolebindings', '--output', 'name');

      expect(stdout.split('\n').filter((name) => name.includes('first-admin'))).to.deep.equal([
        `clusterrolebinding.rbac.authorization.k8s.io/${release}-first-admin-atrium-users-admin`,
      ]);
    });

    it('recovers after a replica crashed, and answers meanwhile', async () => {
      const [one, other] = atrium.endpoints;
      await atrium.pods.find(({ address }) => address === one)?.crash();

      await eventually(
        () => atrium.endpoints,
        (endpoints) => `${endpoints}` === `${other}`,
      );
      expect((await atrium.get('/api/v1/modules')).status).to.equal(200);
      await atrium.settles();
    });

    it('allows one eviction at a time when nodes are drained', async () => {
      const evict = ({ name }: { name: string }) =>
        cluster.core.createNamespacedPodEviction({ namespace, name, body: { metadata: { namespace, name } } });
      const [one, other] = atrium.pods.filter(({ address }) => atrium.endpoints.includes(address));
      if (!one || !other) throw new Error('two Pods were to be there');
      // The disruption controller notices readiness later than the Service.
      await eventually(
        async () =>
          (await atrium.kubectl('get', 'poddisruptionbudget', release, '--output', 'jsonpath={.status.disruptionsAllowed}')).stdout,
        (allowed) => allowed === '1',
      );
      await evict(one);

      const refusal = await evict(other).catch((error: unknown) => error);

      expect(refusal).to.include({ code: 429 });
      expect(`${refusal}`).to.include('disruption budget');
      await eventually(
        () => atrium.pods,
        (pods) => !pods.includes(one),
      );
      await atrium.settles();
    });
  });

  describe('the first administrator', () => {
    it('chooses a password at the first login, with each request at another replica', async () => {
      const { info } = await atrium.logIn({ email: firstAdmin, password: given, newPassword: ada.password });

      expect(info).to.include({ name: firstAdmin });
      expect(info.ext).to.include({ is_admin: true, must_change_password: false });
    });

    it('is authenticated at both replicas by cookie and by token', async () => {
      const { cookie } = await atrium.logIn(ada);
      const { info } = await atrium.logIn({ ...ada, storage: 'local' });
      const bearer = { authorization: `Bearer ${info.ext.token?.access_token}` };
      for (const [kind, credential] of Object.entries({ cookie: { cookie }, bearer })) {
        const replicas = new Set<string>();
        // Requests between the Pods shift the turns of the Service.
        for (let turn = 0; turn < 4 || (replicas.size < 2 && turn < 40); turn += 1) {
          const requestID = `${kind}-${turn}`;
          const response = await atrium.get('/api/v2/token/info', { ...credential, 'x-request-id': requestID });
          expect(response.status, kind).to.equal(200);
          const [name = 'none'] = await eventually(
            () => reached(requestID),
            (names) => names.length > 0,
          );
          replicas.add(name);
        }
        expect(replicas.size, kind).to.equal(2);
      }
    });

    it('may administer users, and no other objects of the cluster', async () => {
      const { cookie } = await atrium.logIn(ada);

      const list = await atrium.get('/auth/v2/users', { cookie });

      expect(list.status).to.equal(200);
      expect(await list.json()).to.have.nested.property('items[0].spec.email', firstAdmin);
      expect((await cluster.kubectl('auth', 'can-i', 'delete', 'users', '--as', firstAdmin)).stdout).to.equal('yes\n');
      expect((await cluster.kubectl('auth', 'can-i', 'get', 'secrets', '--as', firstAdmin)).stdout).to.equal('no\n');
    });
  });

  describe('kubectl', () => {
    let user: string;
    before(async () => {
      const { info } = await atrium.logIn(ada);
      user = info.ext.user;
    });

    it('gets users as a table', async () => {
      const [header, row] = outputOf(await cluster.kubectl('get', 'users')).split('\n');
      expect(header?.split(/\s{2,}/)).to.deep.equal(['NAME', 'USERNAME', 'DISPLAY NAME', 'SOURCE', 'PHASE', 'LAST LOGIN', 'AGE']);
      expect(row?.split(/\s{2,}/).slice(0, 5)).to.deep.equal([user, firstAdmin, 'Administrator', 'Local', 'Normal']);

      const [wide] = outputOf(await cluster.kubectl('get', 'users', '--output', 'wide')).split('\n');
      expect(wide?.split(/\s{2,}/)).to.deep.equal([
        'NAME',
        'USERNAME',
        'DISPLAY NAME',
        'SOURCE',
        'PHASE',
        'LAST LOGIN',
        'ADMIN',
        'REASON',
        'GROUPS',
        'AGE',
      ]);
    });

    it('describes a user', async () => {
      const text = outputOf(await cluster.kubectl('describe', 'user', user));

      expect(text).to.match(new RegExp(`Email:\\s+${firstAdmin}`));
      expect(text).to.match(/Phase:\s+Normal/);
    });

    it('explains what a user is', async () => {
      expect(outputOf(await cluster.kubectl('explain', 'users'))).to.match(/KIND:\s+User[\s\S]*DESCRIPTION:\n\s+\w/);
      expect(outputOf(await cluster.kubectl('explain', 'users.spec.email'))).to.match(/FIELD: email <string>[\s\S]*DESCRIPTION:\n\s+\w/);
      expect(outputOf(await cluster.kubectl('explain', 'users.status.phase'))).to.match(/ENUM:\s+Invalid\s+Disabled\s+Locked\s+Normal/);
    });

    it('selects users by their fields', async () => {
      const select = async (selector: string) =>
        outputOf(await cluster.kubectl('get', 'users', '--output', 'name', '--field-selector', selector)).trim();

      expect(await select(`spec.email=${firstAdmin}`)).to.equal(`user.auth.platform.io/${user}`);
      expect(await select('spec.connector_type=local,status.phase=Normal')).to.equal(`user.auth.platform.io/${user}`);
      expect(await select('status.phase=Locked')).to.equal('');
      expect((await cluster.kubectl('get', 'users', '--field-selector', 'spec.account=ada')).stderr).to.include(
        'field label not supported',
      );
    });

    it('refuses a misspelt field of a user', async () => {
      const { stderr } = await cluster.kubectl('patch', 'user', user, '--type', 'merge', '--patch', '{"spec":{"is_dissabled":true}}');

      expect(stderr).to.include('unknown field "spec.is_dissabled"');
    });

    it('ends a session at every replica by deleting it', async () => {
      const { cookie } = await atrium.logIn(ada);
      const own = ['--sort-by', '.spec.createdAt', '--output', 'name', '--field-selector', `spec.user=${user}`];
      const sessions = outputOf(await atrium.kubectl('get', 'sessions', ...own))
        .trim()
        .split('\n');
      // The newest session is found by its name, because several may be of the same second.
      const newest = sessions.find((name) => name.endsWith(`/s-${hash('sha256', cookie.split('=')[1] ?? '')}`)) ?? '';
      expect(newest, `${sessions}`).to.not.equal('');
      expect((await atrium.get('/api/v2/token/info', { cookie })).status).to.equal(200);

      outputOf(await atrium.kubectl('delete', newest));

      const inARow = async () => [await info(), await info(), await info(), await info()];
      const info = async () => (await atrium.get('/api/v2/token/info', { cookie })).status;
      await eventually(inARow, (statuses) => statuses.every((status) => status === 401));
    });
  });

  describe('the service account', () => {
    const account = `system:serviceaccount:${namespace}:${release}`;
    const canI = async (...question: string[]) => (await cluster.kubectl('auth', 'can-i', ...question, '--as', account)).stdout.trim();

    it('may watch users and keep sessions', async () => {
      expect(await canI('watch', 'users.auth.platform.io')).to.equal('yes');
      expect(await canI('create', 'sessions.auth.platform.io', '--namespace', namespace)).to.equal('yes');
    });

    for (const question of [
      ['get', 'secrets', '--namespace', 'kube-system'],
      ['list', 'secrets', '--namespace', namespace],
      ['delete', 'secrets', '--namespace', namespace],
      ['deletecollection', 'users.auth.platform.io'],
      ['create', 'certificatesigningrequests'],
      ['create', 'sessions.auth.platform.io', '--namespace', 'default'],
      ['list', 'pods', '--all-namespaces'],
      ['create', 'pods', '--namespace', namespace],
      ['create', 'clusterrolebindings'],
      ['escalate', 'clusterroles'],
      ['bind', 'clusterroles'],
      ['create', 'serviceaccounts/token', '--namespace', namespace],
      ['impersonate', 'serviceaccounts'],
      ['update', 'customresourcedefinitions'],
      ['create', 'tokenreviews'],
    ])
      it(`may not ${question.join(' ')}`, async () => {
        expect(await canI(...question)).to.equal('no');
      });
  });

  it('refuses a wrong value with its path, and changes nothing', async () => {
    const { code, stderr } = await atrium.upgrade('--reuse-values', '--set', 'config.server.port=http');

    expect(code).to.equal(1);
    expect(stderr).to.include("'/config/server/port'");
    const history = outputOf(await cluster.helm('history', release, '--namespace', namespace, '--output', 'json'));
    expect(JSON.parse(history)).to.have.lengthOf(1);
  });
});

import { expect } from 'chai';
import { z } from 'zod';
import { aBinding, aGroup, Bindings } from '../../service/bindings/support.ts';
import { nameOf } from '../../service/users/a-user.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { outputOf, type WholeCluster } from './cluster.ts';
import { chart, firstAdmin, Release, repository } from './release.ts';
import { sharedCluster } from './shared-cluster.ts';

const ada = { email: firstAdmin, password: 'correct horse battery' };
const quick = ['--set', 'readinessProbe.periodSeconds=1', '--set', 'minReadySeconds=1', '--set', 'preStopSeconds=2'];
const features = (isOn: boolean) => ['accessTokens', 'userBindings'].flatMap((name) => ['--set', `config.features.${name}=${isOn}`]);
const accessToken = z.object({ id: z.string(), token: z.string() });

/** The installation has the rights and the admission policies of the chart, and no others. */
describe('an installation with the features that are off by default', () => {
  let cluster: WholeCluster;
  let atrium: Release;
  let bearer: { authorization: string };

  const send = (method: string, path: string, body?: unknown) =>
    fetch(`${atrium.url}${path}`, {
      method,
      headers: { ...bearer, connection: 'close', 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  /** Returns the distinct statuses of as many requests as it takes to reach each replica. */
  const statuses = async (headers: Record<string, string>) => {
    const get = async () => (await atrium.get('/auth/v2/users', headers)).status;
    return `${[...new Set([await get(), await get(), await get(), await get()])]}`;
  };

  before(async () => {
    cluster = await sharedCluster();
    cluster.images.set(`${repository}:1.0.0`, cluster.image);
    atrium = await Release.prepare(cluster);
    outputOf(await atrium.kubectl('create', 'secret', 'generic', 'ada', `--from-literal=password=${ada.password}`));
    outputOf(await atrium.install(chart, ...quick, ...features(true), '--set', 'admin.existingSecret=ada'));
    await atrium.settles();
    const { info } = await atrium.logIn({ ...ada, storage: 'local' });
    bearer = { authorization: `Bearer ${info.ext.token?.access_token}` };
  });
  after(async () => {
    await atrium?.destroy();
  });

  it('accepts an access token at every replica until it is revoked, and shows its last use', async () => {
    const made = await send('POST', '/auth/v1/accesstoken', { description: 'ci' });
    const { id, token } = accessToken.parse(await made.json());
    const program = { authorization: `Bearer ${token}` };

    await eventually(
      () => statuses(program),
      (all) => all === '200',
    );
    const shown = ['get', 'accesstoken', id, '--output', 'jsonpath={.status.lastUsedTime}'];
    await eventually(
      async () => (await cluster.kubectl(...shown)).stdout,
      (time) => time.startsWith('20'),
    );
    expect((await send('DELETE', `/auth/v1/accesstokens/${id}`)).status).to.equal(204);
    await eventually(
      () => statuses(program),
      (all) => all === '401',
    );
  });

  it('creates RoleBindings for UserBindings, only of the roles that the chart lists', async () => {
    const bindings = new Bindings(cluster.admin);
    const mayListPods = async () => (await cluster.kubectl('auth', 'can-i', 'list', 'pods', '--as', 'jane')).stdout.trim();
    await cluster.admin.apply(aBinding('viewers'), aBinding('admins', { roleRef: 'cluster-admin' }));

    await eventually(mayListPods, (answer) => answer === 'yes');
    const { status } = await bindings.until('admins', 'Failed');
    expect(status?.conditions?.map(({ message }) => message)).to.include(
      'the service may not bind the ClusterRole cluster-admin: see rbac.userBindings of the chart',
    );
    await bindings.remove('viewers');
    await bindings.remove('admins');
    await eventually(mayListPods, (answer) => answer === 'no');
  });

  it('removes deleted users from groups, past the admission policy', async () => {
    const names = ['kim', 'lee'].map((name) => nameOf(`${name}@example.com`));
    for (const name of ['kim', 'lee']) {
      const made = await send('POST', '/auth/v1/users', { spec: { email: `${name}@example.com`, password: 'battery horse correct' } });
      expect(made.status).to.equal(201);
    }
    await cluster.admin.apply(aGroup('crew', [...names, 'somebody']));
    await eventually(
      async () => [await (await send('GET', '/auth/v1/groups')).text(), await (await send('GET', '/auth/v1/groups')).text()],
      (lists) => lists.every((list) => list.includes('"crew"')),
    );
    const members = async () =>
      outputOf(await cluster.kubectl('get', 'groups.auth.platform.io', 'crew', '--output', 'jsonpath={.spec.users[*].name}'));

    expect((await send('DELETE', `/auth/v1/users/${names[0]}`)).status).to.equal(204);
    expect(await members()).to.equal(`${names[1]} somebody`);
    outputOf(await cluster.kubectl('delete', 'user', names[1] ?? ''));
    await eventually(members, (left) => left === 'somebody');
  });

  it('names the missing right of a feature that is on without its rights, and keeps all other functions', async () => {
    const extraEnv = ['accessTokens', 'userBindings'].map((name) => ({ name: `ATRIUM_FEATURES__${name.toUpperCase()}`, value: 'true' }));
    outputOf(await atrium.upgrade('--reuse-values', ...features(false), '--set-json', `extraEnv=${JSON.stringify(extraEnv)}`));
    await atrium.settles();

    for (const pod of atrium.pods) {
      await eventually(
        async () => (await fetch(`http://${pod.address}:9090/readyz?verbose`)).text(),
        (health) =>
          ['access-tokens', 'userbindings'].every((check) =>
            new RegExp(`^\\[-\\]${check} failed \\(not critical\\): 403 Forbidden$`, 'm').test(health),
          ),
      );
      await eventually(
        () => pod.log,
        (log) =>
          ['list resource "accesstokens"', 'watch resource "userbindings"', 'get resource "leases"'].every((right) =>
            log.includes(`cannot ${right}`.replaceAll('"', '\\"')),
          ),
      );
    }
    expect(await statuses(bearer)).to.equal('200');
    expect((await send('POST', '/auth/v1/accesstoken', { description: 'ci' })).status).to.equal(503);
  });
});

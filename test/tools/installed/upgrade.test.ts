import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { outputOf, type WholeCluster } from './cluster.ts';
import { chart, firstAdmin, type LogIn, Release, release, repository, values } from './release.ts';
import { sharedCluster } from './shared-cluster.ts';
import { SteadyRequests } from './steady-requests.ts';

const ada = { email: firstAdmin, password: 'correct horse battery' };
/** Values beside the defaults. A roll-out takes seconds, and the first administrator's password is known. */
const quick = [
  ...['--set', 'readinessProbe.periodSeconds=1', '--set', 'minReadySeconds=1', '--set', 'preStopSeconds=2'],
  ...['--set', 'admin.existingSecret=ada', '--set', 'admin.existingSecretKey=password'],
];

describe('an installation over its lifetime', () => {
  let cluster: WholeCluster;
  let atrium: Release;
  let directory: string;
  let browser: LogIn;
  let bearer: { authorization: string };

  /** Returns the parts of Secrets and the User that an upgrade must keep. */
  const kept = async () => {
    const read = async (...what: string[]) => outputOf(await atrium.kubectl('get', ...what));
    return {
      keys: await read('secret', 'atrium-keys', '--output', 'jsonpath={.metadata.uid} {.data}'),
      user: await read('user', browser.info.ext.user, '--output', 'jsonpath={.metadata.uid} {.spec}'),
      passwords: await read('secrets', '--field-selector', 'type=auth.platform.io/password', '--output', 'jsonpath={.items[*].data}'),
    };
  };
  const isLoggedIn = async () => {
    for (let turn = 0; turn < 4; turn += 1) {
      expect((await atrium.get('/api/v2/token/info', { cookie: browser.cookie })).status).to.equal(200);
      expect((await atrium.get('/auth/v2/users', bearer)).status).to.equal(200);
    }
  };
  const people = () =>
    new SteadyRequests(atrium, [
      { path: '/' },
      { path: '/api/v2/token/info', headers: { cookie: browser.cookie } },
      { path: '/auth/v2/users', headers: bearer },
      { path: '/api/v1/modules' },
    ]);
  const apiAddress = async () => ((await (await atrium.get('/api/v1/modules')).json()) as { apiAddress: string }).apiAddress;
  const podNames = () => new Set(atrium.pods.map(({ name }) => name));

  before(async () => {
    cluster = await sharedCluster();
    for (const version of ['0.0.9', '1.0.0']) cluster.images.set(`${repository}:${version}`, cluster.image);
    directory = await mkdtemp(join(tmpdir(), 'atrium-chart-'));
    atrium = await Release.prepare(cluster);
    outputOf(await atrium.kubectl('create', 'secret', 'generic', 'ada', `--from-literal=password=${ada.password}`));
    outputOf(await atrium.install(await previousChart(directory), ...quick));
    await atrium.settles();
    browser = await atrium.logIn(ada);
    const { info } = await atrium.logIn({ ...ada, storage: 'local' });
    bearer = { authorization: `Bearer ${info.ext.token?.access_token}` };
  });
  after(async () => {
    await atrium?.destroy();
    await rm(directory, { recursive: true, force: true });
  });

  it('is upgraded from the previous version with its users, sessions and keys, and loses no request', async () => {
    const before = await kept();
    const asking = people();

    outputOf(await atrium.upgrade(...values, ...quick));
    await atrium.settles();

    const { count, failures } = await asking.stop();
    expect(failures).to.deep.equal([]);
    expect(count).to.be.greaterThan(20);
    expect(atrium.pods.map(({ log }) => log.includes('"version":"1.0.0"'))).to.deep.equal([true, true]);
    expect(outputOf(await cluster.kubectl('get', 'users', '--output', 'wide'))).to.match(/GROUPS/);
    expect(await kept()).to.deep.equal(before);
    await isLoggedIn();
    await atrium.logIn(ada);
  });

  it('applies a changed value by replacing Pods one by one, reverts it by a rollback, and loses no request', async () => {
    const address = await apiAddress();
    const old = podNames();
    const asking = people();

    outputOf(await atrium.upgrade('--reuse-values', '--set', 'config.console.apiAddress=https://api.example.com'));
    await atrium.settles();
    expect([...podNames()].filter((name) => old.has(name))).to.deep.equal([]);
    expect(await apiAddress()).to.equal('https://api.example.com');

    outputOf(await atrium.rollback());
    await atrium.settles();
    expect(await apiAddress()).to.equal(address);

    expect((await asking.stop()).failures).to.deep.equal([]);
    await isLoggedIn();
  });

  it('keeps the old Pods if new ones cannot start, logs the reason in the new ones, and is rolled back', async () => {
    const old = podNames();
    const asking = people();
    const twice = JSON.stringify([
      { id: 'en', name: 'English' },
      { id: 'en', name: 'English' },
    ]);

    const { code } = await atrium.upgrade('--reuse-values', '--set-json', `config.console.languages=${twice}`, '--timeout', '6s');

    expect(code).to.equal(1);
    await eventually(
      () => atrium.pods.filter(({ log }) => log.includes('console.languages')).length,
      (count) => count === 1,
    );
    expect(atrium.endpoints).to.have.lengthOf(2);
    outputOf(await atrium.rollback());
    await atrium.settles();
    expect(podNames()).to.deep.equal(old);
    expect((await asking.stop()).failures).to.deep.equal([]);
  });

  it('keeps only users, their definitions and the keys when it is uninstalled, and uses them after a reinstallation', async () => {
    const before = await kept();

    const said = outputOf(await atrium.uninstall());
    await atrium.settles(0);

    expect(said).to.include('kept due to the resource policy');
    const ofRelease = ['--output', 'name', '--selector', `app.kubernetes.io/instance=${release}`];
    const kinds = await everyKind(cluster);
    // The API server learns late that the last Pods have ended.
    await eventually(
      async () =>
        outputOf(await atrium.kubectl('get', kinds, ...ofRelease))
          .trim()
          .split('\n'),
      (left) => left.every((name) => name.startsWith('customresourcedefinition')),
    );
    const secrets = outputOf(await atrium.kubectl('get', 'secrets', '--output', 'jsonpath={.items[*].metadata.name}')).split(' ');
    expect(secrets).to.have.members(['ada', 'atrium-first-admin', 'atrium-keys', `user-password-${browser.info.ext.user}`]);
    expect(await kept()).to.deep.equal(before);

    outputOf(await atrium.install(chart, ...quick));
    await atrium.settles();
    await isLoggedIn();
  });
});

/**
 * Makes a chart of the previous version, because none is published: the same templates under a lower version, whose image is the same
 * bundle under another tag, and whose User has a column of another name.
 */
async function previousChart(directory: string): Promise<string> {
  const previous = join(directory, 'atrium');
  await cp(chart, previous, { recursive: true });
  await replace(join(previous, 'Chart.yaml'), /1\.0\.0/g, '0.0.9');
  await replace(join(previous, 'files/crds/users.auth.platform.io.yaml'), /name: Groups/, 'name: Teams');
  return previous;
}

async function replace(path: string, pattern: RegExp, by: string): Promise<void> {
  const text = await readFile(path, 'utf8');
  if (!pattern.test(text)) throw new Error(`${path} has no ${pattern}`);
  await writeFile(path, text.replace(pattern, by));
}

/** Returns all kinds that can be listed, for `kubectl get`. */
async function everyKind(cluster: WholeCluster): Promise<string> {
  const { stdout } = await cluster.kubectl('api-resources', '--verbs', 'list', '--output', 'name');
  return stdout.trim().split('\n').join(',');
}

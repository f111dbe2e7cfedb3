import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SqliteStore } from '@atrium/audit-store/sqlite-store.ts';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { aNamespace, aRole } from '../access/objects.ts';
import type { Machine } from '../kubectl-atrium/machine.ts';
import { machineOf, optionsFor } from '../kubectl-atrium/machine-of.ts';
import { nameOf } from '../users/a-user.ts';

const password = 'correct horse';
const [ada, noa] = ['ada@example.com', 'noa@example.com'] as const;

async function startWithStore() {
  const directory = await mkdtemp(join(tmpdir(), 'atrium-audit-'));
  const auditStore = await SqliteStore.open(join(directory, 'audit.db'));
  const service = await startEmbeddedLogin({ emails: [ada, noa], password, auditStore, login: { audiences: ['kubectl'] } });
  return {
    ...service,
    auditStore,
    async stop() {
      await service.stop();
      await auditStore.stop();
      await rm(directory, { recursive: true });
    },
  };
}

describe('kubectl atrium audit', () => {
  const service = forSuite(startWithStore);
  const [machine, other] = [machineOf(service, { email: ada, password }), machineOf(service, { email: noa, password })];
  const options = () => optionsFor(service);
  const ask = (one: Machine, ...args: string[]) => one.run(['audit', ...args, ...options()]);
  const event = (second: number, username: string, parts: object = {}) => ({
    ...{
      auditID: `e${second}`,
      cluster: 'local',
      source: 'door' as const,
      verb: 'delete',
      user: { username },
      outcome: 'success' as const,
    },
    ...{ sourceIPs: ['192.0.2.1'], userAgent: 'kubectl', milliseconds: 1, responseStatus: { code: 200 }, requestID: `r${second}` },
    objectRef: { apiGroup: 'apps', resource: 'deployments', namespace: 'shop', name: 'storefront' },
    requestReceivedTimestamp: new Date(Date.UTC(2026, 0, 12, 10, 0, second)).toISOString(),
    ...parts,
  });

  before(async () => {
    await service.admin.apply(
      aNamespace('shop'),
      aRole('auditors', [{ apiGroups: ['auth.platform.io'], resources: ['audits'], verbs: ['list'] }]),
      clusterRoleBinding('auditor', 'auditors', { kind: 'User', name: ada }),
    );
    await service.auditStore.append([
      event(1, ada),
      event(2, noa, { responseStatus: { code: 403 }, outcome: 'failure' }),
      event(3, noa, { verb: 'get', objectRef: { apiGroup: '', resource: 'secrets', namespace: 'payments', name: 'db' } }),
    ]);
    await eventually(
      () => ask(machine),
      ({ stdout }) => stdout.includes(noa),
    );
  });

  it('prints a table of events, the newest last', async () => {
    const { code, stdout, stderr } = await ask(machine, '-n', 'shop');
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => line.split(/ {3,}/)),
    ).to.deep.equal([
      ['TIME', 'USER', 'VERB', 'OBJECT', 'NAMESPACE', 'CODE', 'FROM', 'CONTAINER', 'DETAILS'],
      ['2026-01-12T10:00:01.000Z', ada, 'delete', 'deployments.apps/storefront', 'shop', '200', '192.0.2.1'],
      ['2026-01-12T10:00:02.000Z', noa, 'delete', 'deployments.apps/storefront', 'shop', '403', '192.0.2.1'],
    ]);
  });

  it('finds events by user, verb, object, age and outcome, and prints JSON', async () => {
    const ids = async (...args: string[]) => {
      const { code, stdout } = await ask(machine, '-o', 'json', ...args);
      expect(code).to.equal(0);
      const { items } = JSON.parse(stdout) as { items: { auditID: string; event?: string }[] };
      return items.map(({ auditID, event = auditID }) => event);
    };
    expect(await ids('--who', noa)).to.deep.equal(['e2', 'e3', 'LoginSucceeded']);
    expect(await ids('--verb', 'get')).to.deep.equal(['e3']);
    expect(await ids('--object', 'secrets./db')).to.deep.equal(['e3']);
    expect(await ids('--object', 'deployments.apps')).to.deep.equal(['e1', 'e2']);
    expect(await ids('--failed')).to.deep.equal(['e2']);
    expect(await ids('--since', '30m', '--verb', 'create')).to.deep.equal(['LoginSucceeded', 'LoginSucceeded']);
  });

  it('finds the events of a user by the address or the record', async () => {
    for (const user of [noa, nameOf(noa)]) {
      const { code, stdout, stderr } = await ask(machine, '--user', user, '-o', 'json', '--since', '1h');
      expect(code, stderr).to.equal(0);
      const { items } = JSON.parse(stdout) as { items: { event?: string; objectRef: { name?: string } }[] };
      expect(items.map(({ event: name }) => name)).to.include('LoginSucceeded');
      expect(items.filter(({ objectRef: { name } }) => name === nameOf(ada))).to.deep.equal([]);
    }
    const refused = await ask(other, '--user', ada);
    expect([refused.code, refused.stderr]).to.satisfy(([code, told]: [number, string]) => code === 1 && told.includes('audits'));
  });

  it('prints CSV of all events of a question, the newest first, and no control characters', async () => {
    const { code, stdout, stderr } = await ask(machine, '-n', 'shop', '-o', 'csv');
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    const [titles, ...rows] = stdout.split('\r\n');
    expect(titles).to.match(/^"time","user",/);
    expect(rows.map((row) => row.split(',')[1])).to.deep.equal([`"${noa}"`, `"${ada}"`, undefined]);
    expect((await ask(machine, '-n', 'shop', '-o', 'csv', '--limit', '1')).stdout.split('\r\n')).to.have.length(3);
    expect((await ask(machine, '-f', '-o', 'csv')).stderr).to.equal('--follow prints a table or JSON, and no CSV\n');
    const own = await ask(other, '-n', 'shop', '-o', 'csv');
    expect(own.stderr).to.match(/^The list has your own events only/);
    expect(own.stdout).to.not.include(ada);
    expect((await ask(other, '-o', 'csv', '--who', ada)).code).to.equal(1);
  });

  it('says that there are older events, and that the list has those of the user alone', async () => {
    const newest = await ask(machine, '--limit', '1');
    expect(newest.stderr).to.equal('There are older events: the list has the newest 1.\n');
    expect(newest.stdout.trimEnd().split('\n')).to.have.length(2);
    const own = await ask(other);
    expect(own.stderr).to.equal('The list has your own events only: you may not list audits.auth.platform.io here.\n');
    expect(own.stdout).not.to.contain(ada);
    expect((await ask(other, '--who', ada)).code).to.equal(1);
  });

  it('counts events by user, and tells programs from users', async () => {
    const account = 'system:serviceaccount:ci:build';
    const pipeline = { accessToken: 'at-1', objectRef: { apiGroup: '', resource: 'configmaps', namespace: 'ci', name: 'build' } };
    await service.auditStore.append([
      ...[40, 41, 42].map((second) => event(second, account, { objectRef: pipeline.objectRef })),
      ...[43, 44].map((second) => event(second, noa, pipeline)),
      event(45, noa, { objectRef: pipeline.objectRef, outcome: 'failure', responseStatus: { code: 403 } }),
    ]);
    const { code, stdout, stderr } = await ask(machine, 'counts', '-n', 'ci');
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    const cells = (text: string) =>
      text
        .trimEnd()
        .split('\n')
        .map((line) => line.split(/ {3,}/));
    const rows = [
      [account, 'ServiceAccount', '3', '0', '0'],
      [noa, 'User', '3', '1', '2'],
    ];
    expect(cells(stdout)).to.have.deep.members([['USER', 'KIND', 'EVENTS', 'FAILED', 'WITH TOKEN'], ...rows]);
    const byObject = await ask(machine, 'counts', '--by', 'object', '-n', 'ci', '--failed');
    expect(cells(byObject.stdout)).to.deep.equal([
      ['OBJECT', 'NAMESPACE', 'EVENTS', 'FAILED'],
      ['configmaps/build', 'ci', '1', '1'],
    ]);
    const json = JSON.parse((await ask(machine, 'counts', '--by', 'hour', '-n', 'ci', '-o', 'json')).stdout);
    expect(json.items).to.deep.equal([{ hour: '2026-01-12T10:00:00.000Z', count: 6, failures: 1 }]);
    expect((await ask(machine, 'counts', '--until', '1h', '-n', 'ci', '--by', 'verb')).stdout).to.match(/\ndelete +6 +1\n/);
    // Events from before the record of a user may be those of a namesake.
    await service.auditStore.append([event(46, noa, { ...pipeline, requestReceivedTimestamp: new Date().toISOString() })]);
    const own = await ask(other, 'counts', '-n', 'ci');
    expect(own.stderr).to.match(/^The list has your own events only/);
    expect(own.stdout).to.include(noa).and.not.include(account);
    expect((await ask(machine, 'counts', '--by', 'colour')).stderr).to.match(/Allowed choices are actor, verb, object, hour/);
  });

  it('follows with -f, and prints each event once, in the order of arrival', async () => {
    const running = machine.start(['audit', '-f', '--verb', 'patch', ...options()]);
    await eventually(
      () => running.output.stdout,
      (text) => text.startsWith('TIME'),
    );
    const follows = async (...seconds: number[]) => {
      await service.auditStore.append(seconds.map((second) => event(second, noa, { verb: 'patch' })));
      await eventually(
        () => running.output.stdout,
        (text) => text.includes(`:${seconds.at(-1)}.000Z`),
      );
    };
    await follows(32, 31);
    await follows(33);
    running.signal('SIGINT');
    const { stdout } = await running.finished;
    expect(stdout.match(/:\d\d\.000Z/g)).to.deep.equal([':32.000Z', ':31.000Z', ':33.000Z']);
  });

  it('prints names with control characters in one line', async () => {
    const hostile = 'eve\n\u001b[31m\u202eada';
    await service.auditStore.append([event(4, hostile)]);
    const { stdout } = await ask(machine, '--who', hostile);
    expect(stdout.trimEnd().split('\n')).to.have.length(2);
    expect(stdout).to.match(/eve {2}\[31m ada/);
  });

  it('prints the container and the command of a shell, which no word of it breaks', async () => {
    const pod = (subresource: string) => ({ apiGroup: '', resource: 'pods', subresource, namespace: 'shells', name: 'cart-0' });
    const shell = (second: number, subresource: string, connection: object) =>
      event(second, noa, { verb: 'get', objectRef: pod(subresource), connection });
    const hostile = ['sh', '-c', 'id\r\n2026   eve   delete', '\u001b[2J\u202e\u2028\u0085', "it's", '', 'x'.repeat(256)];
    await service.auditStore.append([
      shell(20, 'exec', { container: 'app', command: ['sh', '-c', 'id; ls'], tty: true }),
      shell(21, 'attach', { container: 'debugger-x7k2p' }),
      shell(22, 'exec', { command: hostile }),
      event(23, noa, { objectRef: { apiGroup: '', resource: 'pods', namespace: 'shells', name: 'cart-0' } }),
    ]);
    const { code, stdout } = await ask(machine, '-n', 'shells');
    expect(code).to.equal(0);
    const [titles = '', ...rows] = stdout.trimEnd().split('\n');
    expect(rows).to.have.length(4);
    expect(stdout).to.not.match(/[^\P{C}\n]|[\p{Zl}\p{Zp}]/u);
    const ran = rows.map((row) => [
      row.slice(titles.indexOf('CONTAINER'), titles.indexOf('DETAILS')).trim(),
      row.slice(titles.indexOf('DETAILS')),
    ]);
    const line = `sh -c 'id  2026   eve   delete' ' [2J   ' 'it'\\''s' '' ${'x'.repeat(256)}`;
    expect(ran).to.deep.equal([
      ['app', "sh -c 'id; ls'"],
      ['debugger-x7k2p', ''],
      ['', `${line.slice(0, 160)}…`],
      ['', ''],
    ]);
  });

  it('prints numbers that a write changed, and roles that users got', async () => {
    const place = { objectRef: { apiGroup: '', resource: 'configmaps', namespace: 'details', name: 'a' } };
    const grant = { role: 'ClusterRole/edit', subjects: [`User/${noa}`, 'Group/ops'], until: '2026-01-12T14:00:00Z' };
    const access = { requester: noa, policy: 'shop-debug', role: 'ClusterRole/view', namespaces: ['shop'] };
    await service.auditStore.append([
      event(150, ada, { ...place, changes: [{ field: 'spec.replicas', from: 2, to: 5 }] }),
      event(151, ada, { ...place, changes: [{ field: 'spec.replicas', to: 0 }] }),
      event(152, ada, { ...place, grant }),
      event(153, ada, { ...place, access }),
    ]);
    const { stdout } = await ask(machine, '-n', 'details');
    const [titles = '', ...rows] = stdout.trimEnd().split('\n');
    expect(rows.map((row) => row.slice(titles.indexOf('DETAILS')))).to.deep.equal([
      'spec.replicas: 2 to 5',
      'spec.replicas: 0',
      `ClusterRole/edit for User/${noa}, Group/ops until 2026-01-12T14:00:00Z`,
      `ClusterRole/view for ${noa} in shop`,
    ]);
  });

  it('prints the action of an event in place of its verb, and finds it', async () => {
    await service.auditStore.append([event(50, noa, { verb: 'patch', action: 'restart' })]);
    const { stdout } = await ask(machine, '--action', 'restart');
    expect(stdout.trimEnd().split('\n')[1]?.split(/ {3,}/).slice(1, 3)).to.deep.equal([noa, 'restart']);
  });
});

import { readFileSync } from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { Trusting } from '../../support/trusting.ts';
import { aBinding, aNamespace, aRole, podRule } from '../access/objects.ts';
import { Machine } from '../kubectl-atrium/machine.ts';

const password = 'correct horse';
const [jane, explorer] = ['jane@example.com', 'explorer@example.com'] as const;

describe('kubectl atrium who-can', () => {
  const service = forSuite(() => startEmbeddedLogin({ emails: [jane, explorer], password, login: { audiences: ['kubectl'] } }));
  const machines = ['explores', 'may nothing'].map(() =>
    forSuite(
      () => Machine.create(),
      (one) => one.remove(),
    ),
  );
  const dispatcher = forSuite(
    async () => new Trusting(readFileSync(service.caFile, 'utf8')),
    (agent) => agent.close(),
  );
  const options = () => ['--issuer', `${service.url}/identity`, '--ca-file', service.caFile, '--no-browser'];
  const [machine, other] = machines as [Machine, Machine];
  const ask = (...args: string[]) => machine.run(['who-can', ...args, ...options()]);

  before(async () => {
    await service.admin.apply(
      aNamespace('shop'),
      aRole('evicts', [{ apiGroups: [''], resources: ['pods/eviction'], verbs: ['create'] }]),
      aRole('scales', [{ apiGroups: ['apps'], resources: ['deployments'], verbs: ['patch'] }, podRule(['patch'])]),
      aBinding('evict', { role: 'evicts', to: ['Group:evictors', `User:${jane}`], namespace: 'shop' }),
      aBinding('scale', { role: 'scales', to: 'ServiceAccount:shop/scaler', namespace: 'shop' }),
      clusterRoleBinding('explores', 'atrium-access-explorer', { kind: 'User', name: explorer }),
    );
    for (const [one, email] of [
      [machine, explorer],
      [other, jane],
    ] as const)
      expect(await one.logIn(options(), { person: { email, password }, dispatcher })).to.include({ code: 0 });
    await eventually(
      () => ask('create', 'pods./eviction', '-n', 'shop'),
      ({ stdout }) => stdout.includes('evictors'),
    );
    await eventually(
      () => ask('patch', 'deployments.apps', '-n', 'shop'),
      ({ stdout }) => stdout.includes('scaler'),
    );
  });

  it('prints a table of subjects, with bindings and roles', async () => {
    const { code, stdout, stderr } = await ask('create', 'pods./eviction', '-n', 'shop');
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    const lines = stdout.trimEnd().split('\n');
    expect(lines[0]).to.match(/^SUBJECT +THROUGH +BINDING +ROLE$/);
    expect(lines.slice(1).map((line) => line.split(/ {3,}/).join(' '))).to.include.members([
      'Group/evictors RoleBinding/shop/evict evicts',
      `User/${jane} RoleBinding/shop/evict evicts`,
    ]);
  });

  it('prints JSON, which scripts read', async () => {
    const { stdout } = await ask('patch', 'deployments.apps', '--namespace', 'shop', '-o', 'json');
    const { complete, items } = JSON.parse(stdout) as { complete: boolean; items: { subject: unknown; rule?: unknown }[] };
    expect(complete).to.equal(true);
    expect(items.find(({ subject }) => JSON.stringify(subject).includes('scaler'))).to.deep.include({
      subject: { kind: 'ServiceAccount', name: 'scaler', namespace: 'shop' },
      rule: { verbs: ['patch'], apiGroups: ['apps'], resources: ['deployments'] },
    });
  });

  it('finds the API group as kubectl does, and asks for it if kubectl does not answer', async () => {
    const folder = join(machine.home, 'bin');
    await mkdir(folder);
    await writeFile(
      join(folder, 'kubectl'),
      '#!/bin/sh\nprintf "pods po v1 true Pod\\ndeployments deploy apps/v1 true Deployment\\ndeployments deploy extensions/v1beta1 true Deployment\\n"\n',
    );
    await chmod(join(folder, 'kubectl'), 0o755);
    const args = ['who-can', 'patch', 'deployments', '-n', 'shop', ...options()];
    const found = await machine.run(args, { PATH: `${folder}:/usr/bin:/bin` });
    expect(found.stdout).to.contain('ServiceAccount/shop/scaler');
    const { code, stderr } = await machine.run(args, { PATH: '' });
    expect(code).to.equal(1);
    expect(stderr).to.contain('the API group of deployments is unknown');
  });

  it('asks the console at another address', async () => {
    const given = await ask('get', '/metrics', '--console', `${service.url}/`);
    expect(given.code).to.equal(0);
    expect(given.stdout).to.contain('Group/system:masters');
    expect((await ask('get', '/metrics', '--console', 'http://console.example.com')).stderr).to.contain('must be an https URL');
  });

  it('asks about paths', async () => {
    const { code, stdout } = await ask('get', '/metrics');
    expect(code).to.equal(0);
    expect(stdout).to.contain('Group/system:masters');
  });

  it('ends with 1 and the words of the API server where the user may not list bindings', async () => {
    const { code, stdout, stderr } = await other.run(['who-can', 'list', 'pods.', '-n', 'shop', ...options()]);
    expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' });
    expect(stderr).to.contain('cannot list resource "rolebindings"');
  });
});

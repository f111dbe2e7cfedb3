import { readFileSync } from 'node:fs';
import { SqliteStore } from '@atrium/audit-store/sqlite-store.ts';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { Trusting } from '../../support/trusting.ts';
import { aBinding, aNamespace, aRole } from '../access/objects.ts';
import { Machine } from '../kubectl-atrium/machine.ts';

const password = 'correct horse';
const ada = 'ada@example.com';

async function startWithStore() {
  const auditStore = await SqliteStore.open(':memory:');
  const service = await startEmbeddedLogin({ emails: [ada], password, auditStore, login: { audiences: ['kubectl'] } });
  const stop = async () => {
    await service.stop();
    await auditStore.stop();
  };
  return { ...service, auditStore, stop };
}

describe('kubectl atrium audit standing-access', () => {
  const service = forSuite(startWithStore);
  const machine = forSuite(
    () => Machine.create(),
    (one) => one.remove(),
  );
  const dispatcher = forSuite(
    async () => new Trusting(readFileSync(service.caFile, 'utf8')),
    (agent) => agent.close(),
  );
  const options = () => ['--issuer', `${service.url}/identity`, '--ca-file', service.caFile, '--no-browser'];
  const ask = (...args: string[]) => machine.run(['audit', 'standing-access', ...args, ...options()]);

  before(async () => {
    await service.admin.apply(
      aNamespace('shop'),
      aRole('auditors', [{ apiGroups: ['auth.platform.io'], resources: ['audits'], verbs: ['list'] }]),
      clusterRoleBinding('auditor', 'auditors', { kind: 'User', name: ada }),
      clusterRoleBinding('explorer', 'atrium-access-explorer', { kind: 'User', name: ada }),
      aBinding('restarters', { role: 'cluster-admin', to: 'User:omar@example.com', namespace: 'shop' }),
    );
    expect(await machine.logIn(options(), { person: { email: ada, password }, dispatcher })).to.include({ code: 0 });
    await service.auditStore.append([
      {
        ...{ auditID: 'e1', cluster: 'local', source: 'door', verb: 'delete', user: { username: 'omar@example.com' }, sourceIPs: [] },
        objectRef: { apiGroup: '', resource: 'pods', namespace: 'shop', name: 'web' },
        ...{ requestReceivedTimestamp: new Date(Date.now() + 2000).toISOString(), outcome: 'success' },
      },
    ]);
    await eventually(
      () => ask('-n', 'shop'),
      ({ stdout }) => stdout.includes('RoleBinding/shop/restarters'),
    );
  });

  it('prints bindings with their last use, and says what use means', async () => {
    const { stdout, stderr, code } = await ask('-n', 'shop');
    expect(code).to.equal(0);
    const [titles = '', row = ''] = stdout.split('\n');
    expect(titles).to.match(/^SEVERITY +ROLE +BINDING +HOLDERS +USERS +LAST USED +BY +ACTION$/);
    expect(row).to.match(
      /^High +cluster-admin +RoleBinding\/shop\/restarters +User\/omar@example.com +1 of 1 +\S+Z +omar@example.com +delete pods\/web$/,
    );
    expect(stderr).to.include('Requests straight to the API server are not seen.');
  });

  it('finds bindings by name and role', async () => {
    const names = async (...args: string[]) =>
      (JSON.parse((await ask('-o', 'json', ...args)).stdout) as { items: { binding: { name: string } }[] }).items.map(
        ({ binding }) => binding.name,
      );
    expect(await names('--name', 'restarters')).to.deep.equal(['restarters']);
    expect(await names('--role', 'auditors')).to.deep.equal(['auditor']);
    expect(await names('--role', 'auditors', '--name', 'restarters')).to.deep.equal([]);
  });

  it('prints JSON, and bounds the list', async () => {
    const all = JSON.parse((await ask('-o', 'json')).stdout) as { total: number; items: { binding: { name: string } }[] };
    expect(all.items.map(({ binding }) => binding.name)).to.include.members(['restarters', 'auditor']);
    const { stdout, stderr } = await ask('-o', 'json', '--limit', '1');
    expect((JSON.parse(stdout) as { items: unknown[] }).items).to.have.length(1);
    expect(stderr).to.include(`The list has 1 of ${all.total} bindings.`);
  });

  it('refuses invalid numbers', async () => {
    expect((await ask('--days', 'many')).code).to.not.equal(0);
  });
});

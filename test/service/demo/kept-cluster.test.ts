import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Demo, startDemo } from '@atrium/demo/cluster.ts';
import { recordName } from '@atrium/demo/objects.ts';
import { expect } from 'chai';
import { ClusterAdmin } from '../../support/cluster-admin.ts';

describe('the demo in a cluster that is kept', () => {
  let directory: string;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'atrium-test-'));
  });
  after(() => rm(directory, { recursive: true }));

  const start = () =>
    startDemo({
      host: '127.0.0.1',
      users: 1,
      dataDirectory: directory,
      manifests: new URL('../../../deploy/manifests/', import.meta.url),
      plugin: [],
      hashPassword: async () => '',
      passwordSecret: ({ name }) => ({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: `user-password-${name}`, namespace: 'atrium-system' },
      }),
    });
  const adminOf = ({ cluster, people }: Demo) =>
    new ClusterAdmin(
      { url: cluster.url, certificateAuthority: cluster.certificateAuthority },
      people.find(({ role }) => role === 'admin')?.token ?? '',
    );

  it('leaves changed and deleted objects as they are, and lets its users in again', async () => {
    const jane = `/apis/auth.platform.io/v1/users/${recordName('jane@example.com')}`;
    const environment = '/api/v1/namespaces/atrium-system/configmaps/console-environment';
    const first = await start();
    const before = adminOf(first);
    await before.remove(jane);
    await before.call('PATCH', environment, { data: { theme: 'dark' } }, { 'content-type': 'application/merge-patch+json' });
    await before.close();
    await first.stop();

    const second = await start();
    const after = adminOf(second);
    try {
      expect((await after.call('GET', jane)).status).to.equal(404);
      expect((await after.call('GET', environment)).body).to.have.nested.property('data.theme', 'dark');
      expect((await after.call('GET', '/apis/auth.platform.io/v1/users')).body)
        .to.have.property('items')
        .that.has.length(12);
    } finally {
      await after.close();
      await second.stop();
    }
  });
});

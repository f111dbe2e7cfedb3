import { expect } from 'chai';
import { forSuite, needsNoStop } from '../../support/for-suite.ts';
import { outputOf } from './cluster.ts';
import { chart, firstAdmin, Release, release, repository } from './release.ts';
import { sharedCluster } from './shared-cluster.ts';

describe('E14 a Job that cannot make the first administrator', () => {
  const cluster = forSuite(sharedCluster, needsNoStop);
  const atrium = forSuite(
    () => Release.prepare(cluster),
    (it) => it.destroy(),
  );

  before(async () => {
    cluster.images.set(`${repository}:1.0.0`, cluster.image);
    outputOf(await atrium.install(chart, '--set', 'admin.email='));
    await atrium.settles();
    outputOf(await atrium.kubectl('create', 'secret', 'generic', 'short', '--from-literal=password=x'));
  });

  it('fails the upgrade, and is deleted with its account and roles', async () => {
    const named = ['--set', `admin.email=${firstAdmin}`, '--set', 'admin.existingSecret=short', '--timeout', '20s'];
    const { code, stderr } = await atrium.upgrade('--reset-then-reuse-values', ...named);
    expect(code, stderr).not.to.equal(0);
    expect(stderr).to.include('post-upgrade hooks failed');

    const { stdout } = await atrium.kubectl(
      'get',
      'jobs,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings',
      '--output',
      'name',
    );
    expect(stdout.split('\n').filter((name) => name.includes('first-admin'))).to.deep.equal([
      `clusterrolebinding.rbac.authorization.k8s.io/${release}-first-admin-atrium-users-admin`,
    ]);
  });
});

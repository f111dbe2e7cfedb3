import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { parse, stringify } from 'yaml';
import { forSuite, needsNoStop } from '../../support/for-suite.ts';
import { outputOf } from './cluster.ts';
import { firstAdmin, publicURL, Release } from './release.ts';
import { sharedCluster } from './shared-cluster.ts';

const deploy = fileURLToPath(new URL('../../../deploy/', import.meta.url));

describe('kubectl apply -k', () => {
  const cluster = forSuite(sharedCluster, needsNoStop);
  const atrium = forSuite(
    () => Release.prepare(cluster),
    (it) => it.destroy(),
  );
  let directory: string;
  let overlay: string;

  before(async () => {
    cluster.images.set('registry.example.com/atrium:1.0.0', cluster.image);
    directory = await mkdtemp(join(tmpdir(), 'atrium-overlay-'));
    overlay = join(directory, 'my-overlay');
    // Same copy as with `cp -RL` in docs/install.md.
    await cp(join(deploy, 'example-overlay'), overlay, { recursive: true, dereference: true });
    // Readers of the example change this setting.
    const file = join(overlay, 'config.yaml');
    await writeFile(file, stringify({ ...parse(await readFile(file, 'utf8')), server: { publicURL } }));
    outputOf(await cluster.kubectl('apply', '--kustomize', overlay));
    outputOf(await atrium.kubectl('rollout', 'status', 'deployment/atrium', '--timeout=90s'));
    outputOf(await atrium.kubectl('wait', 'job/atrium-first-admin', '--for=condition=complete', '--timeout=90s'));
    await atrium.settles();
  });
  after(async () => {
    await cluster.kubectl('delete', '--kustomize', overlay, '--ignore-not-found');
    await rm(directory, { recursive: true, force: true });
  });

  it('installs two replicas in a restricted namespace, where the first administrator logs in', async () => {
    const secret = ['get', 'secret', 'atrium-first-admin', '--output', 'go-template={{.data.password | base64decode}}'];
    const password = outputOf(await atrium.kubectl(...secret));

    const { info } = await atrium.logIn({ email: firstAdmin, password, newPassword: 'correct horse battery' });

    expect(info).to.include({ name: firstAdmin });
    expect(await (await atrium.get('/api/v1/modules')).json()).to.have.nested.property('environment[0].key', 'theme');
  });
});

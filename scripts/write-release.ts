/**
 * Writes the artifacts of a release into an empty folder: the chart, the manifests, `kubectl-atrium` with its manifest for krew, the bill of
 * materials of the image, the release notes, and `SHA256SUMS`. The same sources give the same bytes. Needs Helm in PATH.
 *
 * Run: npm run release [-- --outdir dist/release --image registry.example.com/atrium@sha256:… --uri https://downloads.example.com/atrium]
 */
import './help.ts';
import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { archiveOf } from './archive.ts';

const run = promisify(execFile);
const cwd = fileURLToPath(new URL('../', import.meta.url));
const { values } = parseArgs({
  options: {
    outdir: { type: 'string', default: 'dist/release' },
    image: { type: 'string' },
    uri: { type: 'string', default: 'https://example.com/atrium/downloads' },
  },
});
const outdir = resolve(values.outdir);
const { version } = JSON.parse(await readFile(join(cwd, 'package.json'), 'utf8')) as { version: string };
const node = (...args: string[]) => run(process.execPath, args, { cwd });

await rm(outdir, { recursive: true, force: true });
await mkdir(outdir, { recursive: true });
const work = await mkdtemp(join(tmpdir(), 'atrium-release-'));
try {
  const { stdout: notes } = await node('scripts/release-notes.js', version);
  await writeFile(join(outdir, 'notes.md'), notes);
  await writeChart();
  await writeFile(join(outdir, `atrium-manifests-${version}.tar.gz`), await archiveOf(join(cwd, 'deploy'), 'example-overlay', 'manifests'));
  await node('scripts/write-krew.ts', '--outdir', outdir, '--uri', values.uri);
  await writeBillOfMaterials();
  await writeChecksums();
} finally {
  await rm(work, { recursive: true });
}
console.log(await readFile(join(outdir, 'SHA256SUMS'), 'utf8'));

/** Packs the chart by Helm, which checks it, and again without the time of the packing. */
async function writeChart(): Promise<void> {
  const chart = join(work, 'chart/atrium');
  await cp(join(cwd, 'deploy/helm/atrium'), chart, { recursive: true });
  if (values.image !== undefined) await nameImage(join(chart, 'values.yaml'), values.image);
  await run('helm', ['package', chart, '--destination', work]);
  const archive = `atrium-${version}.tgz`;
  await mkdir(join(work, 'packed'));
  await run('tar', ['--extract', '--file', join(work, archive), '--directory', join(work, 'packed')]);
  await writeFile(join(outdir, archive), await archiveOf(join(work, 'packed'), 'atrium'));
}

/** Makes an image that is named by digest the default of the chart. */
async function nameImage(file: string, image: string): Promise<void> {
  const [, repository, digest] = /^([^@]+)@(sha256:[0-9a-f]{64})$/.exec(image) ?? [];
  if (repository === undefined || digest === undefined) throw new Error(`--image ${image}: name the image as REPOSITORY@sha256:DIGEST`);
  const text = await readFile(file, 'utf8');
  const changed = text
    .replace(/(?<=^image:\n(?: {2}.*\n)*? {2}repository: ).*/m, repository)
    .replace(/(?<=^image:\n(?: {2}.*\n)*? {2}digest: ).*/m, digest);
  if (!changed.includes(`  repository: ${repository}\n`) || !changed.includes(`  digest: ${digest}\n`))
    throw new Error('values.yaml of the chart names no image');
  await writeFile(file, changed);
}

async function writeBillOfMaterials(): Promise<void> {
  const app = join(work, 'app');
  await node('scripts/web.ts', '--if-changed');
  await node('scripts/build.ts', '--outfile', join(app, 'atrium.js'));
  await cp(join(cwd, 'web/dist'), join(app, 'public'), { recursive: true });
  await node('scripts/write-sbom.ts', app);
  await cp(join(app, 'sbom.cdx.json'), join(outdir, `atrium-${version}.cdx.json`));
  await cp(join(app, 'kubectl-atrium'), join(outdir, 'kubectl-atrium'));
}

/** Writes one file of checksums for all artifacts, for `sha256sum --check`. */
async function writeChecksums(): Promise<void> {
  const names = (await readdir(outdir)).sort();
  for (const name of names.filter((one) => one.endsWith('.sha256'))) await rm(join(outdir, name));
  const lines = names
    .filter((name) => !name.endsWith('.sha256'))
    .map(async (name) => `${hash('sha256', await readFile(join(outdir, name)))}  ${name}\n`);
  await writeFile(join(outdir, 'SHA256SUMS'), (await Promise.all(lines)).join(''));
}

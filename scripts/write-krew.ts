/**
 * Packs `kubectl-atrium` for krew, the plugin manager of kubectl: `dist/kubectl-atrium-VERSION.tar.gz` with its checksum, and the manifest
 * `dist/kubectl-atrium.yaml` from packages/kubectl-atrium/krew.yaml.
 *
 * Run: npm run krew -- --uri https://downloads.example.com/atrium [--outdir dist]
 */
import './help.ts';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { archiveOf } from './archive.ts';
import { bundlePlugin, writeChecksum } from './bundle-plugin.ts';

const root = fileURLToPath(new URL('../', import.meta.url));
const { values } = parseArgs({
  options: { uri: { type: 'string', default: 'https://example.com/atrium/downloads' }, outdir: { type: 'string', default: 'dist' } },
});

const source = join(root, 'packages/kubectl-atrium');
const { version } = JSON.parse(await readFile(join(source, 'package.json'), 'utf8')) as { version: string };
const archive = `kubectl-atrium-${version}.tar.gz`;
const directory = await mkdtemp(join(tmpdir(), 'atrium-krew-'));
try {
  await bundlePlugin(join(directory, 'kubectl-atrium'));
  await copyFile(join(root, 'LICENSE'), join(directory, 'LICENSE'));
  await writeFile(join(values.outdir, archive), await archiveOf(directory, 'LICENSE', 'kubectl-atrium'));
} finally {
  await rm(directory, { recursive: true });
}
const sum = await writeChecksum(join(values.outdir, archive));
const template = await readFile(join(source, 'krew.yaml'), 'utf8');
const filled = { vVERSION: `v${version}`, 'uri: URI': `uri: ${values.uri}/${archive}`, 'sha256: SHA256': `sha256: ${sum}` };
const manifest = Object.entries(filled).reduce((text, [place, value]) => text.replace(place, value), withoutComments(template));
await writeFile(join(values.outdir, 'kubectl-atrium.yaml'), manifest);

function withoutComments(text: string): string {
  return text.replaceAll(/^#.*\n/gm, '');
}

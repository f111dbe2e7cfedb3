/**
 * Packs `kubectl-atrium` with its Node.js as one program, for machines without Node.js: `dist/kubectl-atrium-linux-x64`, with its checksum.
 * Other systems need a Node.js of theirs (`--node FILE`). macOS then refuses the program until `codesign --sign - FILE` there; Windows runs
 * it unsigned, with a warning that `signtool` ends.
 *
 * Run: npm run executable [-- --node FILE --platform darwin-arm64 --outdir dist]
 * See https://nodejs.org/api/single-executable-applications.html
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { bundlePlugin, writeChecksum } from './bundle-plugin.ts';

const { values } = parseArgs({
  options: {
    node: { type: 'string', default: process.execPath },
    platform: { type: 'string', default: `${process.platform}-${process.arch}` },
    outdir: { type: 'string', default: 'dist' },
  },
});

const ending = values.platform.startsWith('win32') ? '.exe' : '';
const output = resolve(values.outdir, `kubectl-atrium-${values.platform}${ending}`);
const directory = await mkdtemp(join(tmpdir(), 'atrium-executable-'));
try {
  // The ending decides that the program is no module.
  const main = join(directory, 'kubectl-atrium.cjs');
  await bundlePlugin(main);
  const settings = join(directory, 'sea.json');
  const options = { main, output, executable: resolve(values.node), disableExperimentalSEAWarning: true };
  await writeFile(settings, JSON.stringify(options));
  await promisify(execFile)(process.execPath, ['--build-sea', settings]);
} finally {
  await rm(directory, { recursive: true });
}
console.log(`${await writeChecksum(output)}  ${output}`);

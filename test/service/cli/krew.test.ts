import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { parse } from 'yaml';
import { forSuite } from '../../support/for-suite.ts';

const run = promisify(execFile);
const script = fileURLToPath(new URL('../../../scripts/write-krew.ts', import.meta.url));

describe('the manifest for krew', () => {
  const output = forSuite(
    async () => ({ directory: await mkdtemp(join(tmpdir(), 'atrium-krew-')) }),
    ({ directory }) => rm(directory, { recursive: true }),
  );
  before(() => run(process.execPath, [script, '--uri', 'https://downloads.example', '--outdir', output.directory]));

  it('names an archive with the program, and its checksum', async () => {
    const { metadata, spec } = parse(await readFile(join(output.directory, 'kubectl-atrium.yaml'), 'utf8'));
    // krew derives the name of the command, `kubectl atrium`.
    expect(metadata).to.deep.equal({ name: 'atrium' });
    const [{ uri, sha256, bin }] = spec.platforms;
    const archive = `kubectl-atrium-${String(spec.version).slice(1)}.tar.gz`;
    expect(spec.version).to.match(/^v\d+\.\d+\.\d+$/);
    expect(uri).to.equal(`https://downloads.example/${archive}`);
    expect(sha256).to.equal(hash('sha256', await readFile(join(output.directory, archive))));
    await run('tar', ['--extract', '--file', archive], { cwd: output.directory });
    expect((await run(join(output.directory, bin), ['--version'])).stdout).to.equal(`${String(spec.version).slice(1)}\n`);
  });

  it('is the same each time', async () => {
    const file = join(output.directory, 'kubectl-atrium.yaml');
    const first = await readFile(file, 'utf8');
    await run(process.execPath, [script, '--uri', 'https://downloads.example', '--outdir', output.directory]);
    expect(await readFile(file, 'utf8')).to.equal(first);
  });
});

import { execFile } from 'node:child_process';
import { access } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const version = '4.32.5';
const run = promisify(execFile);

/** Returns the path of schemathesis. The first call installs it from PyPI into a virtual environment. */
export async function schemathesisProgram(): Promise<string> {
  const home = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), `atrium-schemathesis-${version}`);
  const program = join(home, 'bin', 'st');
  try {
    await access(program);
  } catch {
    try {
      await run('python3', ['-m', 'venv', home]);
    } catch (error) {
      throw new Error('Python 3.10 or later with venv is needed: apt-get install python3-venv', { cause: error });
    }
    await run(join(home, 'bin', 'pip'), ['install', '--quiet', `schemathesis==${version}`]);
  }
  return program;
}

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';

const load =
  "const { warn } = console; await import('./src/identity/identity.ts'); if (console.warn !== warn) throw new Error('not restored')";

describe('the embedded OpenID provider', () => {
  it('loads without output besides the log, on the pinned runtime', async () => {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', load]);
    expect({ stdout, stderr }).to.deep.equal({ stdout: '', stderr: '' });
  });
});

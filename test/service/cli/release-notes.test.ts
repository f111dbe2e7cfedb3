/** Notes of a release, which its workflow publishes. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import packageJson from '../../../package.json' with { type: 'json' };

const notes = (version: string) => promisify(execFile)(process.execPath, ['scripts/release-notes.js', version]);

describe('K7 scripts/release-notes.js', () => {
  it('prints the section of CHANGELOG.md of the version that package and chart have', async () => {
    const { stdout } = await notes(packageJson.version);
    expect(stdout).to.contain('### Login').and.to.not.match(/^## /m);
  });

  it('refuses a tag of another version, and names each difference', async () => {
    const refused = await notes('9.9.9').catch((error: { code: number; stderr: string }) => error);
    expect(refused).to.include({ code: 1 });
    expect(refused.stderr.trim().split('\n')).to.deep.equal([
      'package.json has another version',
      'Chart.yaml has another version',
      'CHANGELOG.md has no section "## 9.9.9"',
    ]);
  });
});

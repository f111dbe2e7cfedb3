import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

/**
 * Runs the example of a package's README, and compares what it prints with its comments.
 *
 * @param folder URL of the package's folder
 */
export function expectExampleToPrintItsComments(folder: URL): void {
  const [, example = ''] = /^```ts\n(.*?)^```/ms.exec(readFileSync(new URL('README.md', folder), 'utf8')) ?? [];
  const promised = [...example.matchAll(/^console\.log\(.*\); \/\/ (.*)$/gm)].map(([, text]) => text);
  const printed = execFileSync(process.execPath, ['--input-type=module-typescript', '--eval', example], {
    cwd: fileURLToPath(folder),
    encoding: 'utf8',
  });

  expect(promised).not.to.deep.equal([]);
  expect(printed.trimEnd().split('\n')).to.deep.equal(promised);
}

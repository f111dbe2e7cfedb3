import { existsSync, globSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { z } from 'zod';
import { withSourceTree } from '../../../scripts/source-tree.ts';

const { scripts } = z.object({ scripts: z.record(z.string(), z.string()) }).parse(JSON.parse(readFileSync('package.json', 'utf8')));
const tests = globSync('{test,packages/*/test}/**/*.test.ts');
/** Pattern of all tests in a folder, with the slowest first. */
const longFirst = /'(test\/\w+)\/\*\*\/\*\.long\.test\.ts' '\1\/\*\*\/!\(\*\.long\)\.test\.ts'/;
const defaultOfVariable = /\$\{\w+:-(\w+)\}/g;
/** Arguments of mocha in each script. */
const runs = Object.values(scripts).flatMap((script) =>
  [
    ...script
      .replace(longFirst, '$1')
      .replaceAll(defaultOfVariable, '$1')
      .matchAll(/\bmocha ([^&"]+)/g),
  ].map(([, given = '']) => given.trim().split(/\s+/)),
);
const folders = runs.flat().filter((word) => /^(?:test|packages)\//.test(word));

describe('the folders of the tests', () => {
  it('are those of docs/testing.md', () => {
    const known =
      /^(?:packages\/[a-z-]+\/test|test\/(?:service|cluster|tools\/(api|browser|chart|clients|collector|directory|docs|hostile|image|installed|keycloak|kubectl|lighthouse|postgres|prometheus|regular-expressions|s3|site)))\//;

    expect(tests.filter((path) => !known.test(path))).to.deep.equal([]);
  });

  it('say where a test runs, and no name of a file does', () => {
    expect(runs.flat().filter((word) => /[*{?]|\.ts$|^--ignore/.test(word))).to.deep.equal([]);
    expect(folders.filter((folder) => !existsSync(folder))).to.deep.equal([]);
  });

  it('are each run by a script', () => {
    expect(tests.filter((path) => !folders.some((folder) => path.startsWith(`${folder}/`)))).to.deep.equal([]);
  });
});

describe('the tree of docs/architecture.md', () => {
  it('has the folders of the sources', () => {
    const page = readFileSync('docs/architecture.md', 'utf8');
    expect(page, 'run npm run docs').to.equal(withSourceTree(page));
    expect(page).to.match(/^src\/users +logins\/ passwords\/ record\/$/m);
  });
});

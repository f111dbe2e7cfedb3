import { globSync, readFileSync } from 'node:fs';
import { expect } from 'chai';

const page = readFileSync('docs/threat-model.md', 'utf8');
/** Paths of tests; those of a package as `http/body.test.ts`. */
const files = globSync('{test,packages/*/test}/**/*.test.ts');
const short = (file: string) => `/${file.replace(/^(packages\/[^/]+\/)test\//, '$1')}`;
/** Mentions of tests: the row ids before it, and the end of its path. */
const mentions = [...page.matchAll(/((?:[A-Z]+\d?-?\d+ )*)`([a-z0-9/-]+\.test\.ts)`/g)].map(([, ids = '', path = '']) => ({
  ids: ids.split(' ').filter(Boolean),
  path,
}));

describe('docs/threat-model.md', () => {
  it('names tests that exist', () => {
    expect(mentions.length).to.be.greaterThan(80);
    const missing = mentions.filter(({ path }) => !files.some((file) => short(file).endsWith(`/${path}`)));
    expect(missing).to.deep.equal([]);
  });

  it('names rows that these tests carry in their titles', () => {
    const wrong = mentions.flatMap(({ ids, path }) => {
      const texts = files.filter((file) => short(file).endsWith(`/${path}`)).map((file) => readFileSync(file, 'utf8'));
      return ids.filter((id) => !texts.some((text) => text.includes(id))).map((id) => `${id} in ${path}`);
    });
    expect(wrong).to.deep.equal([]);
  });

  it('gives a test with each attack that fails', () => {
    const lines = page.split('\n').filter((line) => /^\| [^|]+ \| [^|]+ \| [^|]* \|$/.test(line));
    const without = lines.filter((line) => !/^\| (Cannot|Reads|-)/.test(line) && !line.includes('.test.ts`'));
    expect(without).to.deep.equal([]);
  });
});

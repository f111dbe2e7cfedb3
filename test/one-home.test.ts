import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';

/** What is written once, and where: everywhere else the one home is used. Paths are those in `src`. */
const homes: { what: string; pattern: RegExp; home: string[] }[] = [
  { what: 'whether a resource is installed: `WatchCache.state`', pattern: /startsWith\('404/, home: [] },
  {
    what: 'waits until a cache shows something: `WatchCache.until`',
    pattern: /onChange\([^\n]*\bresolve\(|\buntil\([^\n]*\.onChange\(/,
    home: [],
  },
  {
    what: 'the time that such a wait takes',
    pattern: /\b(seenWithinMs|listedWithinMs|madeWithinMs|toldWithinMs|watchDelayMs) = /,
    home: ['kubernetes/until.ts'],
  },
];

const source = new URL('../src/', import.meta.url);
const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.startsWith('sandbox/'))
  .map((file) => ({ file, text: readFileSync(new URL(file, source), 'utf8') }));

/** The embedded cluster stands for the API server, and shares nothing with the service. */
describe('one home', () => {
  for (const { what, pattern, home } of homes)
    it(`has ${what}`, () => {
      const found = files.filter(({ text }) => pattern.test(text)).map(({ file }) => file);

      expect(found.sort()).to.deep.equal(home);
    });
});

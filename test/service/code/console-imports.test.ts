import { globSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { forbiddenImports, type ImportTable, importsOf, upwardImports } from './import-table.ts';

/**
 * Rooms are the folders of `web/src`. The folder `app` is two rooms: the state of the console (`.ts`), which elements of `ui` read, and the
 * parts of pages that use those elements (`.tsx`). The template of plugins declares the types that a plugin gets.
 */
const allowed: ImportTable = {
  'main.tsx': { values: ['shell', 'ui', 'app', 'text'] },
  shell: { values: ['app parts', 'ui', 'app', 'text', 'api'] },
  pages: { values: ['plugins', 'editors', 'app parts', 'ui', 'app', 'text', 'api'], types: ['template'] },
  plugins: { values: ['editors', 'app parts', 'ui', 'app', 'text', 'api'], types: ['template'] },
  editors: { values: ['text', 'api'] },
  'app parts': { values: ['ui', 'app', 'text', 'api'] },
  ui: { values: ['app', 'text', 'api'] },
  app: { values: ['text', 'api'], types: ['template'] },
  text: { values: ['api'] },
  api: { values: [] },
  template: { values: [] },
};

/** Modules that the service and the console share, beside those of `@atrium/objects`. They import no module. */
const shared = ['packages/http/src/return-path', 'src/console/brand', 'packages/kubernetes/src/resource-version'];

function room(path: string): string {
  const [, top = path, folder = ''] = /^web\/(?:src\/)?([^/]+)(?:\/(.+))?/.exec(path) ?? [];
  return top === 'app' && folder.endsWith('.tsx') ? 'app parts' : top;
}

const files = globSync('web/src/**/*.{ts,tsx}');
const modules = new Map(files.map((file) => [file.replace(/\.tsx?$/, ''), file]));
/** Returns the room of an import, which names a module without its extension. */
const roomOf = (path: string): string => room(modules.get(path) ?? path);

describe('the import table of the console', () => {
  it('knows every room', () => {
    expect([...new Set(files.map(room))].filter((name) => !(name in allowed))).to.deep.equal([]);
  });

  it('holds for every import', () => {
    const forbidden = (file: string) =>
      forbiddenImports(file, allowed, roomOf)
        .filter(({ path }) => !path.startsWith('packages/objects/') && !shared.includes(path.replace(/\.ts$/, '')))
        .map(({ target }) => `${file} imports ${target}`);
    expect(files.flatMap(forbidden)).to.deep.equal([]);
  });

  it('shares modules with the service that import nothing', () => {
    expect(shared.flatMap((module) => importsOf(`${module}.ts`))).to.deep.equal([]);
  });

  it('shares modules of objects that need neither a library nor Node.js', () => {
    const inBrowser = new Set(files.flatMap(importsOf).flatMap(({ path }) => (path.startsWith('packages/objects/') ? [path] : [])));
    for (const path of inBrowser) for (const next of importsOf(path)) inBrowser.add(next.path);
    const needsMore = (path: string) => /^import (?!type\b).*'(?![.])[^']+';/m.test(readFileSync(path, 'utf8'));
    expect([...inBrowser].filter(needsMore)).to.deep.equal([]);
    expect(inBrowser.size).to.be.greaterThan(4);
  });

  it('points down only', () => {
    expect(upwardImports(allowed)).to.deep.equal([]);
  });
});

import { globSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { App } from '../../../src/app.ts';
import { parseConfig } from '../../../src/config/load.ts';

const pages = globSync('docs/contract/*.md').map((file) => ({ file, text: readFileSync(file, 'utf8') }));
const page = (name: string) => pages.find(({ file }) => file.endsWith(`/${name}`))?.text ?? '';
/** Statuses of every operation, beside its own: docs/contract/conventions.md. */
const shared = new Set(['405', '413', '415', '429', '431', '500', '503', '504']);

interface Line {
  ids: string[];
  method: string;
  path: string;
  statuses: string;
}

/** The headings of operations with the line below each. */
const lines: Line[] = pages.flatMap(({ text }) =>
  [...text.matchAll(/^### (`.+`)\n`([A-Z]+) (\/\S*)` · (.+)$/gm)].map(([, heading = '', method = '', path = '', statuses = '']) => ({
    ids: [...heading.matchAll(/`(\w+)`/g)].map(([, id = '']) => id),
    method,
    path,
    statuses,
  })),
);

const declared = Object.entries(App.describe({ tokenExchange: true }).paths ?? {}).flatMap(([path, methods]) =>
  Object.entries(methods ?? {}).flatMap(([method, operation]) =>
    typeof operation === 'object' && 'operationId' in operation
      ? [
          {
            id: operation.operationId ?? '',
            method: method.toUpperCase(),
            path,
            statuses: Object.keys(operation.responses ?? {})
              .filter((status) => !shared.has(status))
              .join(' '),
          },
        ]
      : [],
  ),
);

describe('docs/contract', () => {
  it('has each operation once', () => {
    const ids = lines.flatMap((line) => line.ids);
    expect(ids.toSorted()).to.deep.equal(declared.map(({ id }) => id).toSorted());
  });

  for (const { id, method, path, statuses } of declared)
    it(`says path and statuses of ${id} as the code does`, () => {
      const line = lines.find(({ ids }) => ids.includes(id));
      expect(line?.path).to.equal(path);
      expect(line?.method).to.be.oneOf([method, 'ANY']);
      expect(line?.statuses).to.equal(statuses);
    });

  it('names settings that exist', () => {
    const known = readFileSync('docs/configuration.md', 'utf8');
    const sections = Object.keys(parseConfig({ yaml: '' })).join('|');
    const named = pages.flatMap(({ text }) =>
      [...text.matchAll(new RegExp(`\`((?:${sections})(?:\\.[A-Za-z]\\w*)+)\``, 'g'))].map(([, name = '']) => name),
    );
    const unknown = named.filter((name) => !name.endsWith('.platform.io') && !known.includes(`\`${name}`));
    expect(named.length).to.be.greaterThan(40);
    expect(unknown).to.deep.equal([]);
  });

  it('has each row that a test names, and a test for each row', () => {
    const rowId = /\b(?:LOG|TOK|REN|COO|RED|LEAK|STA|IMG|PLG|AUZ|USR|LDP|CRT|LIM|FLT|REC2?|END|KPX|LST|MFA|ISS)-\d\d\b/g;
    const tests = globSync('{test,packages/*/test}/**/*.ts').map((file) => readFileSync(file, 'utf8'));
    const tested = new Set(tests.flatMap((text) => text.match(rowId) ?? []));
    const rows = [...page('cases.md').matchAll(/^\| ([A-Z]+\d?-\d\d) \|/gm)].map(([, id = '']) => id);
    expect(rows).to.deep.equal([...new Set(rows)]);
    expect(rows.toSorted()).to.deep.equal([...tested].toSorted());
  });

  it('has the pages that comments name, and comments name no other page', () => {
    const sources = globSync('{src,packages,test,bench,scripts}/**/*.ts').filter((file) => !file.endsWith('contract.test.ts'));
    expect(sources.filter((file) => /\b(?:api|crds|security)\.md\b/.test(readFileSync(file, 'utf8')))).to.deep.equal([]);
  });
});

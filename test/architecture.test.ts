import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const source = fileURLToPath(new URL('../src/', import.meta.url));

/** Imports point down only. A folder may always import itself; `types` marks what may be imported as types alone. */
const allowed: Record<string, { values: string[]; types: string[] }> = {
  'main.ts': { values: ['app.ts', 'create-admin.ts', 'demo.ts', 'config', 'http', 'kubernetes'], types: [] },
  'create-admin.ts': { values: ['config', 'http', 'kubernetes', 'accounts'], types: [] },
  'demo.ts': { values: ['app.ts', 'config', 'http', 'sandbox', 'accounts'], types: [] },
  'app.ts': {
    values: [
      'config',
      'http',
      'kubernetes',
      'accounts',
      'console',
      'login',
      'users',
      'directory',
      'roles',
      'certificates',
      'access',
      'identity',
    ],
    types: [],
  },
  console: { values: ['http', 'kubernetes'], types: ['config'] },
  login: { values: ['http', 'kubernetes', 'accounts'], types: ['config'] },
  users: { values: ['http', 'kubernetes', 'accounts'], types: ['config'] },
  directory: { values: ['http', 'kubernetes', 'accounts'], types: ['config'] },
  roles: { values: ['http', 'kubernetes', 'accounts'], types: ['config'] },
  certificates: { values: ['http', 'kubernetes', 'accounts'], types: ['config'] },
  access: { values: ['http', 'kubernetes'], types: ['config'] },
  identity: { values: ['http', 'kubernetes', 'accounts'], types: ['config'] },
  accounts: { values: ['http', 'kubernetes'], types: ['config'] },
  kubernetes: { values: ['http'], types: ['config'] },
  sandbox: { values: ['http'], types: ['config'] },
  http: { values: [], types: [] },
  config: { values: [], types: [] },
};

const importLine = /^(import|export)(\s+type)?\s[^;]*?from\s+'(\.[^']+)'/gms;

function sourceFiles(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    return entry.isDirectory() ? sourceFiles(path) : entry.name.endsWith('.ts') ? [path] : [];
  });
}

const room = (path: string) => relative(source, path).split('/')[0] ?? '';

function forbiddenImports(file: string): string[] {
  const from = room(file);
  const rule = allowed[from];
  return [...readFileSync(file, 'utf8').matchAll(importLine)].flatMap(([, , type, target = '']) => {
    const to = room(join(dirname(file), target));
    if (to === from || to === '..' || rule?.values.includes(to) || (type !== undefined && rule?.types.includes(to))) return [];
    return [`${relative(source, file)} imports ${to}`];
  });
}

describe('the import table', () => {
  const files = sourceFiles(source);

  it('knows every room', () => {
    expect([...new Set(files.map(room))].filter((name) => !(name in allowed))).to.deep.equal([]);
  });

  it('holds for every import', () => {
    expect(files.flatMap(forbiddenImports)).to.deep.equal([]);
  });

  it('leaves process.env, process.exit and the signals to main.ts', () => {
    const offenders = files.filter((file) => !file.endsWith('/main.ts') && /process\.(env|exit|on)\b/.test(readFileSync(file, 'utf8')));

    expect(offenders.map((file) => relative(source, file))).to.deep.equal([]);
  });

  it('keeps a feature closed but for the door that app.ts uses', () => {
    const doors = [
      ...readFileSync(join(source, 'app.ts'), 'utf8').matchAll(
        /from '\.\/(console|users|directory|roles|certificates|access|login|identity)\/([^']+)'/g,
      ),
    ].map(([, folder, file]) => `${folder}/${file}`);

    expect(doors.sort()).to.deep.equal([
      'access/access.ts',
      'certificates/certificates.ts',
      'console/console.ts',
      'directory/directory.ts',
      'identity/identity.ts',
      'login/login.ts',
      'roles/roles.ts',
      'users/users.ts',
    ]);
  });
});

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const source = fileURLToPath(new URL('../../../src/', import.meta.url));

/** Imports point down only. A folder may always import itself; `types` marks what may be imported as types alone. */
const allowed: Record<string, { values: string[]; types: string[] }> = {
  'main.ts': { values: ['app.ts', 'create-admin.ts', 'demo.ts', 'cli', 'config', 'api', 'http', 'kubernetes', 'keys', 'rbac'], types: [] },
  'create-admin.ts': { values: ['config', 'api', 'http', 'kubernetes', 'users'], types: [] },
  'kubectl-atrium.ts': { values: ['cli'], types: [] },
  'demo.ts': { values: ['app.ts', 'config', 'api', 'http', 'sandbox', 'users'], types: [] },
  'app.ts': { values: ['features.ts', 'config', 'api', 'http', 'meta'], types: ['kubernetes'] },
  'features.ts': {
    values: [
      'config',
      'api',
      'http',
      'kubernetes',
      'keys',
      'rbac',
      'console',
      'plugins',
      'proxy',
      'login',
      'users',
      'directory',
      'groups',
      'bindings',
      'roles',
      'certificates',
      'tokens',
      'meta',
      'access',
      'identity',
    ],
    types: [],
  },
  console: { values: ['api', 'http', 'kubernetes', 'keys', 'rbac'], types: ['config'] },
  plugins: { values: ['api', 'http', 'kubernetes', 'keys', 'rbac'], types: ['config'] },
  proxy: { values: ['api', 'http', 'kubernetes', 'keys', 'rbac'], types: ['config'] },
  login: { values: ['api', 'http', 'kubernetes', 'keys', 'rbac', 'collection', 'oidc', 'users'], types: ['config'] },
  users: { values: ['api', 'http', 'kubernetes', 'keys', 'rbac', 'collection'], types: ['config'] },
  meta: { values: ['api', 'http', 'kubernetes'], types: ['config'] },
  directory: { values: ['api', 'http', 'kubernetes', 'keys', 'rbac', 'users'], types: ['config'] },
  bindings: { values: ['api', 'http', 'kubernetes', 'keys', 'rbac', 'collection', 'users'], types: ['config'] },
  groups: { values: ['api', 'http', 'kubernetes', 'keys', 'rbac', 'collection', 'users'], types: ['config'] },
  roles: { values: ['api', 'http', 'kubernetes', 'keys', 'rbac', 'users'], types: ['config'] },
  certificates: { values: ['api', 'http', 'kubernetes', 'keys', 'rbac', 'users'], types: ['config'] },
  tokens: { values: ['api', 'http', 'kubernetes', 'keys', 'rbac', 'collection', 'users'], types: ['config'] },
  access: { values: ['api', 'http', 'kubernetes', 'keys', 'rbac', 'collection'], types: ['config'] },
  identity: { values: ['api', 'http', 'kubernetes', 'keys', 'rbac', 'oidc', 'users'], types: ['config'] },
  collection: { values: ['api', 'http', 'kubernetes', 'keys'], types: [] },
  keys: { values: ['api', 'kubernetes'], types: [] },
  rbac: { values: ['api', 'kubernetes'], types: ['http'] },
  kubernetes: { values: ['api', 'http'], types: ['config'] },
  sandbox: { values: ['api'], types: ['config'] },
  cli: { values: ['oidc'], types: [] },
  // What several parties of OpenID Connect share.
  oidc: { values: [], types: ['config'] },
  http: { values: ['api'], types: [] },
  api: { values: [], types: [] },
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

  it('leaves process.env, process.exit and the signals to the two programs', () => {
    const programs = ['main.ts', 'kubectl-atrium.ts'].map((name) => join(source, name));
    const offenders = files.filter((file) => !programs.includes(file) && /process\.(env|exit|on)\b/.test(readFileSync(file, 'utf8')));

    expect(offenders.map((file) => relative(source, file))).to.deep.equal([]);
  });

  it('keeps a feature closed but for the door that the wiring uses', () => {
    const below = ['config', 'api', 'http', 'kubernetes', 'keys', 'rbac'];
    const doors = ['app.ts', 'features.ts']
      .flatMap((file) => [...readFileSync(join(source, file), 'utf8').matchAll(/from '\.\/([\w-]+)\/([^'/]+)'/g)])
      .filter(([, folder = '']) => !below.includes(folder))
      .map(([, folder, file]) => `${folder}/${file}`);

    expect(doors.sort()).to.deep.equal([
      'access/access.ts',
      'access/namespaces.ts',
      'bindings/bindings.ts',
      'certificates/certificates.ts',
      'console/console.ts',
      'directory/directory.ts',
      'groups/groups.ts',
      'identity/identity.ts',
      'login/login.ts',
      'meta/about.ts',
      'meta/discovery.ts',
      'meta/docs-page.ts',
      'meta/kubeconfig.ts',
      'plugins/plugins.ts',
      'proxy/proxy.ts',
      'roles/roles.ts',
      'tokens/tokens.ts',
      'users/users.ts',
    ]);
  });
});

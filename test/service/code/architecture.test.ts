import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const source = fileURLToPath(new URL('../../../src/', import.meta.url));

/**
 * Which rooms each room may import, top to bottom: imports point down only. A room may always import itself. `types` marks
 * what may be imported as types alone. The file of operations of a room (`routes.ts`, `*-routes.ts`) is imported by the wiring alone.
 */
const allowed: Record<string, { values: string[]; types?: string[] }> = {
  'main.ts': { values: ['app.ts', 'create-admin.ts', 'demo.ts', 'cli', 'config', 'http', 'kubernetes'] },
  'create-admin.ts': { values: ['config', 'http', 'kubernetes', 'users'] },
  'kubectl-atrium.ts': { values: ['cli'] },
  'demo.ts': { values: ['app.ts', 'config', 'http', 'sandbox', 'users'] },
  'app.ts': { values: ['features.ts', 'config', 'http', 'meta'], types: ['kubernetes'] },
  'features.ts': {
    values: [
      ...['access', 'meta', 'console', 'plugins', 'proxy', 'tokens', 'identity', 'login', 'sessions', 'issuer'],
      ...['directory', 'certificates', 'roles', 'bindings', 'groups', 'users', 'collection'],
      ...['rbac', 'keys', 'kubernetes', 'http', 'config'],
    ],
    types: ['services.ts'],
  },
  access: { values: ['collection', 'rbac', 'kubernetes', 'http', 'api'], types: ['services.ts', 'keys'] },
  meta: { values: ['kubernetes', 'http', 'api'], types: ['services.ts', 'config'] },
  console: { values: ['kubernetes', 'http', 'api'], types: ['services.ts', 'config'] },
  plugins: { values: ['kubernetes', 'http', 'api'], types: ['services.ts', 'config'] },
  proxy: { values: ['kubernetes', 'http', 'api'], types: ['services.ts', 'config'] },
  tokens: { values: ['users', 'collection', 'keys', 'kubernetes', 'http', 'api'], types: ['services.ts', 'config'] },
  identity: { values: ['issuer', 'users', 'keys', 'kubernetes', 'http', 'api'], types: ['services.ts', 'config'] },
  login: { values: ['sessions', 'issuer', 'users', 'keys', 'kubernetes', 'http', 'api'], types: ['services.ts', 'config'] },
  sessions: { values: ['issuer', 'users', 'collection', 'keys', 'kubernetes', 'http', 'api'], types: ['services.ts', 'config'] },
  cli: { values: ['issuer'] },
  issuer: { values: ['users', 'kubernetes', 'http', 'api'], types: ['services.ts', 'config'] },
  directory: { values: ['users', 'kubernetes', 'http', 'api'], types: ['services.ts', 'config'] },
  certificates: { values: ['users', 'kubernetes', 'http', 'api'], types: ['services.ts', 'config'] },
  roles: { values: ['users', 'rbac', 'kubernetes', 'http', 'api'], types: ['services.ts', 'config'] },
  bindings: { values: ['groups', 'users', 'collection', 'rbac', 'kubernetes', 'http', 'api'], types: ['services.ts', 'config', 'keys'] },
  groups: { values: ['users', 'collection', 'kubernetes', 'http', 'api'], types: ['services.ts', 'keys'] },
  users: { values: ['collection', 'rbac', 'keys', 'kubernetes', 'http', 'api'], types: ['services.ts', 'config'] },
  collection: { values: ['kubernetes', 'http', 'api'], types: ['services.ts', 'keys'] },
  'services.ts': { values: [], types: ['rbac', 'keys', 'kubernetes', 'http', 'config'] },
  rbac: { values: ['kubernetes', 'http', 'api'] },
  keys: { values: ['kubernetes', 'api'] },
  kubernetes: { values: ['http', 'api'], types: ['config'] },
  sandbox: { values: ['api'] },
  http: { values: ['api'] },
  config: { values: [] },
  api: { values: [] },
};

const wiring = ['app.ts', 'features.ts', 'login/login.ts', 'login/relying-party.ts'];

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
    if (to === from || to === '..') return [];
    const isOperations = /(^|[/-])routes\.ts$/.test(target) && !wiring.includes(relative(source, file));
    const mayImport = rule?.values.includes(to) || (type !== undefined && rule?.types?.includes(to));
    return mayImport && !isOperations ? [] : [`${relative(source, file)} imports ${target}`];
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

  it('points down only', () => {
    const floors = Object.keys(allowed);
    const upwards = floors.flatMap((room, floor) =>
      [...(allowed[room]?.values ?? []), ...(allowed[room]?.types ?? [])]
        .filter((to) => floors.indexOf(to) <= floor)
        .map((to) => `${room}: ${to}`),
    );

    expect(upwards).to.deep.equal([]);
  });
});

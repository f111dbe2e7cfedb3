import { globSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { forbiddenImports, type ImportTable, importsOf, upwardImports } from './import-table.ts';

/** Rooms are the files and folders of `src`, and the packages. Only the wiring imports files of operations (`routes.ts`, `*-routes.ts`). */
const allowed: ImportTable = {
  'main.ts': { values: ['app.ts', 'create-admin.ts', 'demo', 'signals.ts', 'kubectl-atrium', 'config', 'http', 'kubernetes'] },
  'create-admin.ts': { values: ['config', 'http', 'kubernetes', 'users'] },
  demo: { values: ['app.ts', 'config', 'http', 'users', 'embedded-cluster'] },
  'app.ts': { values: ['features.ts', 'config', 'http', 'meta'], types: ['services.ts', 'kubernetes'] },
  'features.ts': {
    values: [
      ...[
        'access-requests',
        'search',
        'lists',
        'access',
        'meta',
        'console',
        'plugins',
        'proxy',
        'tokens',
        'identity',
        'factors',
        'one-time-links',
        'login',
        'sessions',
        'revocation',
        'issuer',
      ],
      ...['directory', 'certificates', 'roles', 'bindings', 'groups', 'users', 'collection'],
      ...['rbac', 'keys', 'kubernetes', 'http', 'config', 'texts'],
    ],
    types: ['services.ts'],
  },
  search: { values: ['lists', 'groups', 'users', 'collection', 'kubernetes', 'http', 'api'], types: ['services.ts'] },
  lists: { values: ['access', 'collection', 'config', 'kubernetes', 'http', 'api'], types: ['services.ts'] },
  access: { values: ['collection', 'rbac', 'kubernetes', 'http', 'api'], types: ['services.ts', 'keys'] },
  meta: { values: ['kubernetes', 'http', 'api', 'config'], types: ['services.ts'] },
  console: { values: ['kubernetes', 'http', 'api'], types: ['plugins', 'services.ts', 'config'] },
  plugins: { values: ['kubernetes', 'http', 'api'], types: ['services.ts', 'config'] },
  proxy: { values: ['kubernetes', 'http', 'api'], types: ['services.ts', 'config'] },
  tokens: { values: ['users', 'collection', 'keys', 'kubernetes', 'http', 'api', 'config'], types: ['services.ts'] },
  identity: {
    values: ['factors', 'one-time-links', 'issuer', 'users', 'keys', 'kubernetes', 'http', 'api', 'config', 'texts'],
    types: ['services.ts'],
  },
  factors: { values: ['users', 'keys', 'kubernetes', 'http', 'api', 'config'], types: ['services.ts'] },
  'one-time-links': { values: ['issuer', 'users', 'keys', 'kubernetes', 'http', 'api', 'config', 'texts'], types: ['services.ts'] },
  login: { values: ['sessions', 'revocation', 'issuer', 'users', 'keys', 'kubernetes', 'http', 'api', 'config'], types: ['services.ts'] },
  sessions: {
    values: ['revocation', 'issuer', 'users', 'collection', 'keys', 'kubernetes', 'http', 'api'],
    types: ['services.ts', 'config'],
  },
  revocation: { values: ['issuer', 'users', 'kubernetes', 'api'], types: ['services.ts', 'config'] },
  issuer: { values: ['users', 'keys', 'kubernetes', 'http', 'api', 'config'], types: ['services.ts'] },
  directory: { values: ['users', 'kubernetes', 'http', 'api'], types: ['services.ts', 'config'] },
  certificates: { values: ['users', 'kubernetes', 'http', 'api', 'config'], types: ['services.ts'] },
  roles: { values: ['users', 'rbac', 'kubernetes', 'http', 'api', 'config'], types: ['services.ts'] },
  'access-requests': {
    values: ['bindings', 'users', 'collection', 'kubernetes', 'http', 'api', 'config'],
    types: ['services.ts'],
  },
  bindings: { values: ['groups', 'users', 'collection', 'rbac', 'kubernetes', 'http', 'api', 'config'], types: ['services.ts', 'keys'] },
  groups: { values: ['users', 'collection', 'kubernetes', 'http', 'api'], types: ['services.ts', 'keys'] },
  users: { values: ['collection', 'rbac', 'keys', 'kubernetes', 'http', 'api', 'config'], types: ['services.ts'] },
  collection: { values: ['kubernetes', 'http', 'api'], types: ['services.ts', 'keys'] },
  'services.ts': { values: [], types: ['rbac', 'keys', 'kubernetes', 'http', 'config'] },
  rbac: { values: ['kubernetes', 'http', 'api'] },
  keys: { values: ['kubernetes', 'api'] },
  kubernetes: { values: ['http', 'api'], types: ['config'] },
  'embedded-cluster': { values: ['api'] },
  http: { values: ['api'] },
  config: { values: ['api'] },
  texts: { values: ['api'] },
  api: { values: [] },
  'signals.ts': { values: [] },
  'kubectl-atrium': { values: [] },
};

const wiring = ['app.ts', 'features.ts'];

/** Returns the room: `users` for `src/users/create.ts`, `embedded-cluster` for `packages/embedded-cluster/src/list.ts`. */
const room = (path: string) => path.split('/')[1] ?? '';

const importsOperations = (file: string) =>
  !wiring.includes(file.slice('src/'.length)) &&
  importsOf(file).some(({ path, target }) => room(path) !== room(file) && /(^|[/-])routes\.ts$/.test(target));

describe('the import table', () => {
  const files = globSync('{src,packages/*/src}/**/*.ts');

  it('knows every room', () => {
    expect([...new Set(files.map(room))].filter((name) => !(name in allowed))).to.deep.equal([]);
  });

  it('holds for every import', () => {
    const forbidden = (file: string) =>
      forbiddenImports(file, allowed, room)
        .filter(({ target }) => !target.endsWith('package.json'))
        .map(({ target }) => `${file} imports ${target}`);
    expect(files.flatMap(forbidden)).to.deep.equal([]);
  });

  it('leaves files of operations to the wiring', () => {
    expect(files.filter(importsOperations)).to.deep.equal([]);
  });

  it('leaves process.env, process.exit and the signals to the two programs', () => {
    const programs = ['src/main.ts', 'packages/kubectl-atrium/src/kubectl-atrium.ts'];
    const offenders = files.filter((file) => !programs.includes(file) && /process\.(env|exit|on)\b/.test(readFileSync(file, 'utf8')));

    expect(offenders).to.deep.equal([]);
  });

  it('points down only', () => {
    expect(upwardImports(allowed)).to.deep.equal([]);
  });
});

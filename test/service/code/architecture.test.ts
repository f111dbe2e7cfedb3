import { globSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { filesInCycles, forbiddenImports, type ImportTable, importsOf, upwardImports } from './import-table.ts';

/** Rooms are the files and folders of `src`, and the packages. Only the wiring imports files of operations (`routes.ts`, `*-routes.ts`). */
const allowed: ImportTable = {
  'main.ts': { values: ['kubernetes', 'telemetry', 'config', 'signals.ts', 'kubectl-atrium'] },
  'sweep.ts': { values: ['base.ts', 'access-requests', 'bindings', 'config'], types: ['kubernetes'] },
  'create-admin.ts': { values: ['users', 'keys', 'kubernetes', 'telemetry', 'config', 'objects'] },
  demo: { values: ['app.ts', 'users', 'embedded-cluster', 'telemetry', 'config'], types: ['base.ts'] },
  'app.ts': {
    values: ['features.ts', 'meta', 'openapi', 'http', 'cookies', 'telemetry', 'config'],
    types: ['base.ts', 'services.ts', 'kubernetes'],
  },
  'features.ts': {
    values: [
      'base.ts',
      'authentication.ts',
      'search',
      'lists',
      'access',
      'explorer',
      'meta',
      'console',
      'plugins',
      'proxy',
      'factors',
      'one-time-links',
      'certificates',
      'roles',
      'access-requests',
      'bindings',
      'groups',
      'users',
      'kubernetes',
      'config',
      'texts',
    ],
    types: ['issuer', 'services.ts', 'http'],
  },
  'authentication.ts': {
    values: [
      'tokens',
      'identity',
      'factors',
      'one-time-links',
      'login',
      'sessions',
      'revocation',
      'issuer',
      'users',
      'view-as',
      'kubernetes',
      'http',
      'config',
    ],
    types: ['base.ts', 'console', 'texts'],
  },
  'base.ts': {
    values: [
      'access',
      'directory',
      'access-requests',
      'bindings',
      'groups',
      'users',
      'rbac',
      'keys',
      'kubernetes',
      'http',
      'limits',
      'cookies',
      'telemetry',
      'config',
    ],
    types: ['plugins', 'services.ts'],
  },
  search: { values: ['users', 'kubernetes', 'http', 'limits', 'objects'], types: ['lists', 'groups', 'collection', 'services.ts'] },
  lists: { values: ['access', 'collection', 'watch', 'kubernetes', 'http', 'limits', 'objects'], types: ['services.ts', 'config'] },
  explorer: {
    values: ['access', 'bindings', 'groups', 'users', 'collection', 'rbac', 'kubernetes', 'http', 'limits', 'config', 'objects'],
    types: ['services.ts', 'watch'],
  },
  access: { values: ['collection', 'rbac', 'kubernetes', 'http', 'limits', 'objects'], types: ['services.ts', 'watch'] },
  meta: { values: ['openapi', 'kubernetes', 'http', 'config', 'objects'], types: ['services.ts', 'telemetry'] },
  console: { values: ['static', 'plugins', 'watch', 'kubernetes', 'http', 'limits', 'objects'], types: ['services.ts', 'config'] },
  static: { values: ['http', 'objects'], types: ['services.ts'] },
  plugins: { values: ['controllers', 'watch', 'kubernetes', 'http', 'limits', 'telemetry', 'objects'], types: ['services.ts'] },
  proxy: { values: ['kubernetes', 'http', 'limits', 'objects'], types: ['services.ts', 'config'] },
  tokens: {
    values: ['users', 'collection', 'controllers', 'kubernetes', 'http', 'limits', 'config', 'objects'],
    types: ['services.ts', 'watch'],
  },
  identity: {
    values: [
      'factors',
      'one-time-links',
      'issuer',
      'users',
      'controllers',
      'kubernetes',
      'http',
      'limits',
      'cookies',
      'config',
      'texts',
      'objects',
    ],
    types: ['services.ts', 'keys'],
  },
  factors: { values: ['users', 'kubernetes', 'http', 'limits', 'config', 'objects'], types: ['services.ts', 'keys'] },
  'one-time-links': {
    values: ['users', 'mail', 'kubernetes', 'http', 'limits', 'texts', 'objects'],
    types: ['services.ts', 'keys', 'config'],
  },
  login: {
    values: ['sessions', 'issuer', 'users', 'kubernetes', 'http', 'limits', 'cookies', 'config', 'objects'],
    types: ['services.ts', 'keys'],
  },
  sessions: {
    values: ['revocation', 'issuer', 'users', 'collection', 'controllers', 'kubernetes', 'http', 'limits', 'cookies', 'config', 'objects'],
    types: ['services.ts', 'keys', 'watch'],
  },
  revocation: { values: ['issuer', 'users', 'watch', 'kubernetes', 'objects'], types: ['services.ts'] },
  issuer: {
    values: ['users', 'kubernetes', 'http', 'limits', 'telemetry', 'config', 'objects', 'kubectl-atrium'],
    types: ['services.ts', 'keys', 'watch'],
  },
  directory: { values: ['users', 'controllers', 'kubernetes', 'http', 'limits', 'config', 'objects'], types: ['services.ts'] },
  certificates: { values: ['users', 'kubernetes', 'http', 'config', 'objects'], types: ['services.ts'] },
  roles: { values: ['users', 'http', 'config', 'objects'], types: ['services.ts', 'rbac'] },
  'access-requests': {
    values: [
      'bindings',
      'users',
      'collection',
      'mail',
      'rbac',
      'controllers',
      'kubernetes',
      'http',
      'limits',
      'texts',
      'config',
      'objects',
    ],
    types: ['services.ts', 'watch', 'telemetry'],
  },
  bindings: {
    values: ['users', 'collection', 'rbac', 'controllers', 'watch', 'kubernetes', 'http', 'limits', 'config', 'objects'],
    types: ['groups', 'services.ts'],
  },
  groups: { values: ['users', 'collection', 'controllers', 'kubernetes', 'http', 'limits', 'objects'], types: ['services.ts', 'watch'] },
  users: {
    values: ['collection', 'keys', 'controllers', 'mail', 'kubernetes', 'http', 'limits', 'cookies', 'texts', 'config', 'objects'],
    types: ['services.ts', 'rbac', 'watch'],
  },
  mail: { values: ['controllers', 'kubernetes', 'http', 'limits', 'config'], types: ['services.ts'] },
  collection: { values: ['watch', 'kubernetes', 'http', 'limits', 'objects'], types: ['services.ts', 'keys', 'telemetry'] },
  'view-as': { values: ['kubernetes', 'http', 'limits', 'objects'], types: ['services.ts'] },
  openapi: { values: ['http', 'objects'] },
  'services.ts': { values: [], types: ['rbac', 'keys', 'kubernetes', 'http', 'limits', 'cookies', 'telemetry', 'config'] },
  rbac: { values: ['controllers', 'watch', 'kubernetes', 'http', 'objects'] },
  keys: { values: ['kubernetes', 'limits', 'objects'] },
  controllers: { values: ['kubernetes', 'objects'], types: ['telemetry'] },
  watch: { values: ['kubernetes', 'telemetry', 'objects'] },
  kubernetes: { values: ['http', 'limits', 'telemetry', 'objects'], types: ['config'] },
  'embedded-cluster': { values: ['objects'] },
  http: { values: ['limits', 'telemetry', 'objects'] },
  limits: { values: ['objects'] },
  cookies: { values: [] },
  telemetry: { values: [] },
  config: { values: ['objects'] },
  texts: { values: ['objects'] },
  objects: { values: [] },
  'signals.ts': { values: [] },
  'kubectl-atrium': { values: [] },
};

const wiring = ['app.ts', 'features.ts', 'authentication.ts', 'base.ts'];

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

  it('leaves no import cycle, types included, in the service and the packages', () => {
    expect(filesInCycles(files)).to.deep.equal([]);
  });

  it('points down only', () => {
    expect(upwardImports(allowed)).to.deep.equal([]);
  });
});

import { globSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { filesInCycles, forbiddenImports, type ImportTable, importsOf, upwardImports } from './import-table.ts';

/** Rooms are the files and folders of `src`, and the packages. Only the wiring imports files of operations (`routes.ts`, `*-routes.ts`). */
const allowed: ImportTable = {
  'main.ts': { values: ['kubectl-atrium', 'kubernetes', 'http', 'config', 'rights.ts', 'signals.ts'] },
  'rights.ts': { values: ['kubernetes', 'config'] },
  'sweep.ts': { values: ['base.ts', 'access-requests', 'bindings', 'config'], types: ['kubernetes'] },
  'audit-store.ts': { values: ['store-server', 'audit-store', 'config'], types: ['kubernetes'] },
  'store-server': { values: ['meta', 'audit-chain', 'audit-store', 'audit', 'kubernetes', 'http', 'objects'], types: ['config'] },
  'create-admin.ts': { values: ['users', 'keys', 'kubernetes', 'http', 'config', 'objects'] },
  'sandbox.ts': { values: ['app.ts', 'users', 'audit-store', 'demo', 'embedded-cluster', 'http', 'config'], types: ['base.ts'] },
  'app.ts': { values: ['features.ts', 'meta', 'audit', 'http', 'config'], types: ['base.ts', 'services.ts', 'kubernetes'] },
  'features.ts': {
    values: [
      'authentication.ts',
      'base.ts',
      'mcp',
      'change-proposals',
      'binding-reviews',
      'standing-access',
      'activity',
      'audit-chain',
      'recordings',
      'search',
      'usage',
      'listed-resources',
      'explorer',
      'access',
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
  'restore.ts': {
    values: [
      'binding-reviews',
      'access-requests',
      'bindings',
      'factors',
      'groups',
      'keys',
      'plugins',
      'revocation',
      'tokens',
      'users',
      'kubernetes',
      'http',
      'objects',
    ],
    types: ['config'],
  },
  'authentication.ts': {
    values: [
      'mcp',
      'token-exchange',
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
    values: ['access', 'directory', 'access-requests', 'bindings', 'groups', 'users', 'keys', 'kubernetes', 'audit', 'http', 'config'],
    types: ['plugins', 'usage', 'services.ts', 'audit-store'],
  },
  mcp: {
    values: [
      'change-proposals',
      'activity',
      'search',
      'access-requests',
      'listed-resources',
      'sessions',
      'issuer',
      'kubernetes',
      'audit',
      'http',
      'config',
      'objects',
    ],
    types: ['explorer', 'access', 'services.ts'],
  },
  'change-proposals': { values: ['kubernetes', 'http', 'audit', 'step-up', 'config', 'objects'], types: ['services.ts'] },
  'binding-reviews': {
    values: [
      'access-requests',
      'mail',
      'texts',
      'standing-access',
      'explorer',
      'access',
      'bindings',
      'users',
      'collection',
      'lists',
      'kubernetes',
      'step-up',
      'http',
      'objects',
    ],
    types: ['services.ts'],
  },
  'standing-access': {
    values: ['activity', 'audit', 'explorer', 'access', 'lists', 'kubernetes', 'audit-store', 'http', 'objects'],
    types: ['services.ts'],
  },
  activity: { values: ['lists', 'audit-store', 'kubernetes', 'audit', 'http', 'objects'], types: ['services.ts', 'audit-chain'] },
  'audit-chain': { values: ['audit-store', 'kubernetes', 'audit', 'http', 'objects'], types: ['services.ts', 'config'] },
  usage: { values: ['kubernetes', 'http', 'config', 'objects'], types: ['listed-resources', 'services.ts'] },
  search: { values: ['users', 'kubernetes', 'http', 'objects'], types: ['listed-resources', 'groups', 'services.ts', 'lists'] },
  'listed-resources': { values: ['access', 'lists', 'kubernetes', 'http', 'objects'], types: ['services.ts', 'config'] },
  explorer: {
    values: ['access', 'bindings', 'groups', 'users', 'lists', 'kubernetes', 'step-up', 'audit', 'http', 'config', 'objects'],
    types: ['services.ts'],
  },
  access: { values: ['lists', 'kubernetes', 'http', 'objects'], types: ['services.ts'] },
  meta: { values: ['kubernetes', 'audit', 'http', 'config', 'objects'], types: ['services.ts'] },
  console: { values: ['plugins', 'kubernetes', 'http', 'objects'], types: ['services.ts', 'config'] },
  plugins: { values: ['kubernetes', 'http', 'objects'], types: ['services.ts'] },
  proxy: { values: ['kubernetes', 'step-up', 'audit', 'http', 'objects'], types: ['recordings', 'services.ts', 'config', 'audit-store'] },
  recordings: { values: ['audit-store', 'audit', 'http', 'objects'], types: ['services.ts', 'kubernetes', 'config'] },
  'token-exchange': {
    values: ['tokens', 'users', 'oidc-client', 'audit', 'http', 'objects'],
    types: ['services.ts'],
  },
  tokens: {
    values: ['users', 'collection', 'lists', 'kubernetes', 'step-up', 'audit', 'http', 'config', 'objects'],
    types: ['services.ts'],
  },
  identity: {
    values: ['factors', 'one-time-links', 'issuer', 'users', 'kubernetes', 'step-up', 'audit', 'http', 'config', 'texts', 'objects'],
    types: ['services.ts', 'keys', 'oidc-client'],
  },
  factors: { values: ['users', 'kubernetes', 'step-up', 'audit', 'http', 'config', 'objects'], types: ['services.ts'] },
  'one-time-links': {
    values: ['users', 'mail', 'kubernetes', 'step-up', 'audit', 'http', 'texts', 'objects'],
    types: ['services.ts', 'config'],
  },
  login: {
    values: ['sessions', 'issuer', 'users', 'oidc-client', 'kubernetes', 'step-up', 'audit', 'http', 'config', 'objects'],
    types: ['services.ts'],
  },
  sessions: {
    values: [
      'revocation',
      'issuer',
      'users',
      'collection',
      'lists',
      'oidc-client',
      'kubernetes',
      'step-up',
      'audit',
      'http',
      'config',
      'objects',
    ],
    types: ['services.ts'],
  },
  revocation: { values: ['issuer', 'users', 'oidc-client', 'kubernetes', 'objects'], types: ['services.ts'] },
  issuer: { values: ['users', 'oidc-client', 'kubernetes', 'http', 'config', 'objects'], types: ['services.ts'] },
  directory: { values: ['users', 'kubernetes', 'audit', 'http', 'config', 'objects'], types: ['services.ts'] },
  certificates: { values: ['users', 'kubernetes', 'step-up', 'http', 'config', 'objects'], types: ['services.ts'] },
  roles: { values: ['users', 'http', 'config', 'objects'], types: ['services.ts', 'kubernetes'] },
  'access-requests': {
    values: ['bindings', 'users', 'mail', 'collection', 'lists', 'kubernetes', 'step-up', 'audit', 'http', 'config', 'texts', 'objects'],
    types: ['services.ts'],
  },
  bindings: {
    values: ['users', 'collection', 'lists', 'kubernetes', 'step-up', 'http', 'config', 'objects'],
    types: ['groups', 'services.ts'],
  },
  groups: { values: ['users', 'collection', 'lists', 'kubernetes', 'step-up', 'http', 'objects'], types: ['services.ts'] },
  users: {
    values: ['mail', 'collection', 'lists', 'kubernetes', 'step-up', 'audit', 'http', 'config', 'texts', 'objects'],
    types: ['services.ts'],
  },
  mail: { values: ['kubernetes', 'http', 'config'], types: ['services.ts'] },
  collection: { values: ['lists', 'kubernetes', 'audit', 'http', 'objects'], types: ['services.ts'] },
  'view-as': { values: ['kubernetes', 'audit', 'http', 'objects'], types: ['services.ts'] },
  'services.ts': { values: [], types: ['keys', 'kubernetes', 'audit', 'http', 'config'] },
  keys: { values: ['kubernetes', 'http', 'objects'] },
  'kubectl-atrium': { values: ['oidc-client', 'audit-store'] },
  lists: { values: ['kubernetes', 'http', 'objects'] },
  'oidc-client': { values: ['kubernetes', 'http', 'objects'] },
  audit: { values: ['audit-store', 'kubernetes', 'http', 'objects'], types: ['config'] },
  kubernetes: { values: ['http', 'objects'] },
  'step-up': { values: ['objects'], types: ['http'] },
  'audit-store': { values: [] },
  demo: { values: ['embedded-cluster'] },
  'embedded-cluster': { values: ['objects'] },
  http: { values: ['objects'] },
  config: { values: ['objects'] },
  texts: { values: ['objects'] },
  objects: { values: [] },
  'signals.ts': { values: [] },
};

const wiring = ['app.ts', 'features.ts', 'authentication.ts', 'base.ts'];

/** Returns the room: `users` for `src/users/create.ts`, `embedded-cluster` for `packages/embedded-cluster/src/list.ts`. */
const room = (path: string) => path.split('/')[1] ?? '';

const importsOperations = (file: string) =>
  !wiring.includes(file.slice('src/'.length)) &&
  importsOf(file).some(({ path, target }) => room(path) !== room(file) && /(^|[/-])routes\.ts$/.test(target));

/** Resources without standard operations, which have no definition: `routes.ts` of each room says why. */
const notStandard = ['factors', 'certificates'];
const resourceRooms = ['users', 'groups', 'bindings', 'tokens', 'sessions', 'access-requests', 'binding-reviews', ...notStandard];

describe('the rooms of resources', () => {
  for (const name of resourceRooms)
    it(`have the files of one shape in src/${name}`, () => {
      const parts = ['strategy.ts', 'routes.ts', notStandard.includes(name) ? 'schema.ts' : 'definition.ts', `${name}.ts`];
      const files = globSync(`src/${name}/*.ts`).map((path) => path.slice(`src/${name}/`.length));
      expect(files).to.include.members(parts);
      expect(files).not.to.include('service.ts');
    });
});

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

  it('keeps the packages and their tests free of the service', () => {
    const inPackages = globSync('packages/*/{src,test}/**/*.ts');
    const ofService = (file: string) => importsOf(file).filter(({ path }) => path.startsWith('src/'));
    expect(inPackages.flatMap(ofService)).to.deep.equal([]);
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

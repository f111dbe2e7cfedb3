import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { parse, stringify } from 'yaml';
import { manifestFiles, manifestsDirectory, teamFiles } from '../../../scripts/chart/manifests.ts';
import { rightsFile, rightsPath } from '../../../scripts/chart/rights.ts';
import { chartDirectory } from '../../../scripts/chart/values-files.ts';
import { parseConfig } from '../../../src/config/load.ts';
import { rightsOf } from '../../../src/rights.ts';
import { helmProgram } from '../../cluster/build.ts';
import { serviceNamespace } from '../../support/cluster-admin.ts';
import { textOf } from './call-recorder.ts';
import { objectsOf, render } from './chart.ts';
import { grantsOf } from './granted.ts';

const directory = fileURLToPath(manifestsDirectory);

/** Files that are not rendered: samples to copy, the definitions of the chart, and links for `kubectl apply -f`. */
const notRendered = /^samples\/|^crds\/.*\.io\.yaml$|^((constrained-)?impersonation|audit-store)\.yaml$/;

const filesBelow = (): string[] =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((path) => statSync(`${directory}/${path}`).isFile())
    .map((path) => relative(directory, `${directory}/${path}`));

describe('deploy/manifests', () => {
  let files: Map<string, string>;
  before(async () => {
    files = await manifestFiles(await helmProgram());
  });

  it('equal the rendered chart (npm run manifests)', () => {
    for (const [path, text] of files) expect(readFileSync(`${directory}/${path}`, 'utf8'), path).to.equal(text);
    const expected = [...files.keys()].filter((path) => !path.startsWith('../'));

    const links = teamFiles.filter((name) => realpathSync(`${directory}/${name}`) === realpathSync(`${directory}/team/${name}`));

    expect(filesBelow().filter((path) => !notRendered.test(path))).to.have.members([...expected, ...links]);
    expect(links).to.deep.equal(teamFiles);
    expect(readFileSync(rightsPath, 'utf8'), 'manifest-rights.json').to.equal(rightsFile(files));
  });

  it('apply all definitions of the chart, from their only copy', async () => {
    const { stdout } = await promisify(execFile)('kubectl', ['kustomize', directory], { maxBuffer: 16 * 1024 * 1024 });
    const definitions = (objects: ReturnType<typeof objectsOf>) =>
      objects.filter(({ kind }) => kind === 'CustomResourceDefinition').map(({ metadata, spec }) => ({ name: metadata.name, spec }));

    expect(definitions(objectsOf(stdout))).to.have.deep.members(definitions(await render()));
    expect(realpathSync(`${directory}/crds`)).to.equal(fileURLToPath(new URL('files/crds', chartDirectory)));
  });

  it('have no labels of Helm', () => {
    expect([...files.values()].join('\n')).not.to.match(/helm\.sh|managed-by|checksum\/|Release/);
  });

  it('grant exactly the rights that both kinds of issuers and a directory need', async () => {
    const account = { name: 'atrium', namespace: serviceNamespace };
    const granted = (objects: ReturnType<typeof objectsOf>) => grantsOf(objects, account).map(textOf);
    const server = { publicURL: 'https://console.example.com' };
    const ldap = [{ id: 'staff', name: 'Staff', url: 'ldaps://directory.example.com', baseDN: 'dc=example,dc=com' }];
    const elsewhere = await render({ 'config.server': server, 'config.login.issuer': 'https://issuer.example.com' });
    for (const form of ['constrained-impersonation', 'impersonation']) {
      const wide = { 'rbac.impersonation.constrained': form !== 'impersonation' };
      const own = await render({ 'config.server': server, 'config.users.ldap': ldap, ...wide });
      const plain = objectsOf(`${files.get('rbac.yaml')}---\n${files.get(`${form}/impersonation.yaml`)}`);

      expect(granted(plain), form).to.have.members([...new Set([...granted(own), ...granted(elsewhere)])]);
    }
  });

  it('S12 grant impersonation only in a component, which the example includes', async () => {
    const build = async (path: string) =>
      objectsOf((await promisify(execFile)('kubectl', ['kustomize', path], { maxBuffer: 16 * 1024 * 1024 })).stdout);
    const roleOf = (objects: ReturnType<typeof objectsOf>) =>
      JSON.stringify(objects.filter(({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === 'atrium-impersonation'));
    const impersonates = (objects: ReturnType<typeof objectsOf>) => roleOf(objects).includes('"impersonate:user-info"');
    const isWide = (objects: ReturnType<typeof objectsOf>) => roleOf(objects).includes('"impersonate"');
    const example = await mkdtemp(`${tmpdir()}/atrium-example-`);
    try {
      await cp(`${directory}/../example-overlay`, example, { recursive: true, dereference: true });
      expect(impersonates(await build(directory)), 'deploy/manifests').to.equal(false);
      expect(impersonates(await build(example)), 'with the component').to.equal(true);
      expect(isWide(await build(example)), 'the wide form, unless it is named').to.equal(false);

      const file = `${example}/kustomization.yaml`;
      const { components, ...passthrough } = parse(readFileSync(file, 'utf8'));
      expect(components).to.deep.equal(['base/team', 'base/constrained-impersonation']);
      await writeFile(file, stringify({ ...passthrough, components: ['base/team', 'base/impersonation'] }));
      expect(isWide(await build(example)), 'by name').to.equal(true);
      await writeFile(file, stringify({ ...passthrough, components: ['base/team'] }));
      const without = await build(example);
      expect(impersonates(without) || isWide(without), 'without the component').to.equal(false);
    } finally {
      await rm(example, { recursive: true });
    }
    expect(realpathSync(`${directory}/impersonation.yaml`)).to.equal(realpathSync(`${directory}/impersonation/impersonation.yaml`));
  });

  it('keep the rights to certificates in a file that is applied by hand', async () => {
    const account = { name: 'atrium', namespace: serviceNamespace };
    const granted = grantsOf(objectsOf(files.get('certificates.yaml') ?? ''), account).map(textOf);

    expect(granted).to.have.members([
      ...['create', 'get', 'delete'].map((verb) => `${verb} certificatesigningrequests.certificates.k8s.io`),
      'update certificatesigningrequests.certificates.k8s.io/approval',
      'approve signers.certificates.k8s.io kubernetes.io/kube-apiserver-client',
    ]);
  });

  it('keep the rights to proposals of agents in a file that is applied by hand', () => {
    const account = { name: 'atrium', namespace: serviceNamespace };
    const granted = grantsOf(objectsOf(files.get('agents.yaml') ?? ''), account).map(textOf);

    expect(granted).to.have.members([
      ...['get', 'list', 'create', 'delete'].map((verb) => `${verb} changeproposals.auth.platform.io in ${serviceNamespace}`),
      `patch changeproposals.auth.platform.io/status in ${serviceNamespace}`,
    ]);
  });

  it('apply no features that are off by default, like config.yaml', () => {
    for (const file of [...teamFiles.map((name) => `team/${name}`), 'certificates.yaml', 'agents.yaml']) {
      expect(objectsOf(files.get(file) ?? ''), file).not.to.deep.equal([]);
      expect(files.get('kustomization.yaml')).not.to.include(file);
    }
    const { features, users, lists } = parseConfig({ yaml: files.get('config.yaml') ?? '' });

    expect(features).to.include({ accessRequests: false, accessTokens: false, userBindings: false, groups: true });
    expect(users.certificates.enabled).to.equal(false);
    expect(lists.preset).to.equal('none');
  });

  it('grant in the example just the rights of the features that its config.yaml turns on', async () => {
    const example = `${directory}/../example-overlay`;
    const { stdout } = await promisify(execFile)('kubectl', ['kustomize', example], { maxBuffer: 16 * 1024 * 1024 });
    const account = { name: 'atrium', namespace: serviceNamespace };
    const config = parseConfig({ yaml: readFileSync(`${example}/config.yaml`, 'utf8') });
    const told = rightsOf(config).flatMap(({ verbs, resources }) =>
      resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}`)),
    );
    const granted = grantsOf(objectsOf(stdout), account).map(({ verb, resource }) => {
      const [path = '', ...rest] = resource.replace(/^path /, '').split('/');
      return `${verb} ${[path.replace(/\..*/, ''), ...rest].join('/')}`;
    });

    expect([...new Set(granted)]).to.have.members([...new Set(told)]);
    expect(config.profile).to.equal('team');
  });
});

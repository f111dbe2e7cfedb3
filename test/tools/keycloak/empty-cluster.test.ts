/** Runs the commands of docs/install-keycloak.md, from an empty cluster to kubectl as a user of Keycloak. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createServer, type Server } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { parse, stringify } from 'yaml';
import { helmProgram } from '../../cluster/build.ts';
import { type KeyPair, loopbackCertificates } from '../../cluster/certificates.ts';
import { visit as openCallback } from '../../service/kubectl-atrium/play-browser.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { OpenSockets } from '../../support/open-sockets.ts';
import { type Commands, type Page, pages } from '../docs/page.ts';
import { runCommands } from '../docs/shell.ts';
import { startCluster, type WholeCluster } from '../installed/cluster.ts';
import { ServiceProxy } from '../installed/service-proxy.ts';
import { visit } from './console.ts';
import { keycloak as installation } from './install.ts';
import type { Keycloak } from './keycloak.ts';
import { KeycloakBrowser } from './page.ts';
import { type Person, password } from './realm.ts';
import { suite } from './suite.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../../', import.meta.url));
const namespace = 'atrium-system';
const mostCommands = 10;

describe('docs/install-keycloak.md, from an empty cluster to kubectl', () => {
  const ending = new AbortController();
  const stops: (() => Promise<unknown>)[] = [];
  let keycloak: Keycloak;
  let cluster: WholeCluster;
  let front: Server;
  let directory: string;
  let page: Page;
  let person: Person;
  /** Address of the Service in the cluster. */
  let address: string;
  let environment: Record<string, string>;

  const isOfPath = ({ place }: Pick<Commands, 'place'>) =>
    place !== undefined && 'skip' in place && place.skip.includes('empty-cluster.test.ts');
  /** Replaces the addresses of the page by those of this machine. */
  const here = (text: string) =>
    text.replaceAll('https://console.example.com', consoleURL()).replaceAll('https://keycloak.example.com', keycloak.relay.url);
  const consoleURL = () => `https://localhost:${portOf(front)}`;
  const blocks = () => page.commands.filter(isOfPath).map((commands) => ({ ...commands, text: here(commands.text) }));
  const follow = (commands: readonly Commands[]) => runCommands('bash', commands, { directory, environment }, ending.signal);

  before(async () => {
    page = pages().find(({ path }) => path === 'docs/install-keycloak.md') ?? expect.fail('the page is missing');
    keycloak = (await suite()).keycloak;
    person = await company(keycloak);
    stops.push(() => keycloak.admin('DELETE', '/company'));
    cluster = await startCluster();
    stops.push(() => cluster.stop());
    address = cluster.network.address();
    const service = { kubeconfig: cluster.controlPlane.kubeconfig, namespace, service: 'atrium', network: cluster.network, address };
    const proxy = new ServiceProxy(service);
    proxy.start();
    stops.push(() => proxy.stop());
    const { authority, serving } = await loopbackCertificates('ingress for tests');
    front = await ingress(serving, address, stops);
    cluster.images.set('registry.example.com/atrium:1.0.0', cluster.image);
    directory = await mkdtemp(join(tmpdir(), 'atrium-empty-cluster-'));
    stops.push(() => rm(directory, { recursive: true, force: true }));
    environment = await administrator(directory, cluster, { keycloak: keycloak.certificateAuthority, ingress: authority.certificate });
    await writeFile(join(directory, 'values.yaml'), valuesOf(here(yamlOf(page.blocks.filter(isOfPath))), keycloak));
  });
  after(async () => {
    ending.abort();
    for (const stop of stops.reverse()) await stop();
  });

  it('needs no more than ten commands', () => {
    const all = page.commands.filter(isOfPath).flatMap(({ text }) => statementsOf(text));

    expect(all, all.join('\n')).to.have.lengthOf(mostCommands);
  });

  it('installs Atrium with the clients at Keycloak', async () => {
    await follow(blocks().slice(0, -1));

    const { stdout } = await cluster.kubectl(
      'get',
      'deployment',
      'atrium',
      '--namespace',
      namespace,
      '--output=jsonpath={.status.readyReplicas}',
    );
    expect(stdout).to.equal('2');
  });

  it('lets a user of Keycloak get pods, with the kubeconfig of the console', async () => {
    const user = await home(directory, environment);
    const { browser, callback } = await visit({ url: `http://${address}`, logLines: [] }, { keycloak, person });
    expect(callback.status, callback.text).to.equal(200);
    const kubeconfig = await browser.request('/auth/v1/kubeconfig');
    expect(kubeconfig.status, kubeconfig.text).to.equal(200);
    expect(kubeconfig.text).to.include(`${consoleURL()}/api/kubernetes`);
    await writeFile(join(user.HOME, 'kubeconfig.yaml'), kubeconfig.text);
    await writeFile(join(user.HOME, 'commands.sh'), `set -eu\n${blocks().at(-1)?.text}\n`);

    const running = inTerminal('bash commands.sh', user);
    let isOver = false;
    void running.finally(() => {
      isOver = true;
    });
    const place = await eventually(
      () => readFile(join(user.HOME, 'opened'), 'utf8').catch(() => ''),
      (text) => text.endsWith('\n') || isOver,
    );
    if (!isOver) await logInWithKubectl(keycloak, person, place.trim());

    const shown = await running;
    expect(shown, shown).to.match(/^atrium-\S+\s+1\/1\s+Running/m);
    expect(shown.match(/Running/g)).to.have.lengthOf(2);
  });
});

/** Runs a command in a terminal, because kubectl asks for a login nowhere else. @returns what the terminal shows */
const inTerminal = (command: string, env: Record<string, string> & { HOME: string }): Promise<string> =>
  new Promise((resolve) => {
    const args = ['--quiet', '--return', '--command', command, '/dev/null'];
    execFile('script', args, { cwd: env.HOME, env, timeout: 120_000 }, (_error, stdout, stderr) => resolve(`${stdout}${stderr}`));
  });

/** Creates the realm that the page requires. */
async function company(keycloak: Keycloak): Promise<Person> {
  const realm = { realm: 'company', enabled: true, sslRequired: 'all', groups: [{ name: 'dev' }] };
  await keycloak.admin('POST', '', realm);
  const credentials = [{ type: 'password', value: password, temporary: false }];
  const ann = { username: 'ann', email: 'ann@example.com', emailVerified: true, firstName: 'Ann', lastName: 'Doe', enabled: true };
  await keycloak.admin('POST', '/company/users', { ...ann, groups: ['dev'], credentials });
  const admin = { username: 'admin', enabled: true, credentials };
  const { headers } = await keycloak.admin('POST', '/master/users', admin);
  const id = headers.get('location')?.split('/').at(-1);
  const { text } = await keycloak.admin('GET', '/master/roles/admin');
  await keycloak.admin('POST', `/master/users/${id}/role-mappings/realm`, [JSON.parse(text)]);
  return { id: '', username: ann.username, email: ann.email };
}

/** Ends TLS in front of the Service, like an ingress controller. */
async function ingress({ certificate: cert, key }: KeyPair, address: string, stops: (() => Promise<unknown>)[]): Promise<Server> {
  const sockets = new OpenSockets();
  const server = createServer({ cert, key }, (client) => {
    sockets.track(client);
    const upstream = connect(80, address);
    client.pipe(upstream).pipe(client);
    client.on('error', () => upstream.destroy());
    upstream.on('error', () => client.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  stops.push(async () => {
    const closed = once(server.close(), 'close');
    sockets.destroy();
    await closed;
  });
  return server;
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** Certificate authorities that a machine trusts. */
interface Authorities {
  keycloak: string;
  ingress: string;
}

/** Returns the environment of an administrator's shell. */
async function administrator(directory: string, cluster: WholeCluster, authorities: Authorities): Promise<Record<string, string>> {
  await symlink(join(root, 'deploy'), join(directory, 'deploy'));
  await mkdir(join(directory, '.kube'));
  await cp(cluster.controlPlane.kubeconfig, join(directory, '.kube/config'));
  const ofIngress = join(directory, 'ingress-ca.crt');
  const ofKeycloak = join(directory, 'keycloak-ca.crt');
  await writeFile(ofIngress, authorities.ingress);
  await writeFile(ofKeycloak, authorities.keycloak);
  const store = join(directory, 'authorities.p12');
  await run('keytool', [
    '-importcert',
    '-noprompt',
    '-keystore',
    store,
    '-storepass',
    'changeit',
    '-alias',
    'keycloak',
    '-file',
    ofKeycloak,
  ]);
  const { home: distribution } = await installation();
  return {
    PATH: [join(distribution, 'bin'), dirname(await helmProgram()), dirname(process.execPath), process.env.PATH].join(':'),
    HOME: directory,
    LANG: 'C.UTF-8',
    KC_CLI_PASSWORD: password,
    KC_OPTS: `-Djavax.net.ssl.trustStore=${store} -Djavax.net.ssl.trustStorePassword=changeit -Dkc.config.dir=${directory}`,
    SSL_CERT_FILE: ofIngress,
    CURL_CA_BUNDLE: ofIngress,
  };
}

/** Creates the home of a user, whose browser writes the address that it opens to a file. */
async function home(directory: string, environment: Record<string, string>): Promise<Record<string, string> & { HOME: string }> {
  const HOME = join(directory, 'ann');
  await mkdir(HOME);
  const browser = join(HOME, 'browser');
  await writeFile(browser, `#!/bin/sh\necho "$1" > ${HOME}/opened\n`);
  await chmod(browser, 0o755);
  return { ...environment, HOME, PATH: `${HOME}/.local/bin:${environment.PATH}`, BROWSER: `${browser} %s` };
}

const yamlOf = (blocks: Page['blocks']) => blocks.find(({ language }) => language === 'yaml')?.text ?? '';

/** Adds the authority of Keycloak, which no image knows, and a probe interval for a quick start. */
function valuesOf(text: string, { certificateAuthority }: Keycloak): string {
  const authority = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'issuer-ca' }, data: { 'ca.crt': certificateAuthority } };
  return stringify({
    ...parse(text),
    certificateAuthority: { existingConfigMap: 'issuer-ca' },
    extraObjects: [authority],
    readinessProbe: { periodSeconds: 1 },
  });
}

/** Returns the commands of a block without the documents that they read. */
const statementsOf = (text: string): string[] =>
  text
    .replaceAll(/ <<'END'\n[\s\S]*?\nEND$/gm, '')
    .replaceAll('\\\n', '')
    .split('\n')
    .filter((line) => line.trim() !== '');

/** Logs in at Keycloak from the address that kubectl opened, up to the page of kubectl. */
async function logInWithKubectl(keycloak: Keycloak, { username }: Person, place: string): Promise<void> {
  const begun = await openCallback(place);
  const browser = new KeycloakBrowser(keycloak);
  const { url, answer } = await browser.submit(await browser.get(begun.headers.get('location') ?? ''), { username, password });
  expect(url.pathname, answer?.text).to.equal('/callback');
  const done = await openCallback(url, { cookie: (begun.headers.getSetCookie()[0] ?? '').split(';')[0] ?? '' });
  expect(done.status, done.body).to.equal(200);
}

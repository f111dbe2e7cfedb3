/** `atrium sandbox`: the service on an embedded cluster with users and objects, for a first look and for development. */
import { once } from 'node:events';
import { access, constants, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { SqliteStore } from '@atrium/audit-store/sqlite-store.ts';
import { type Demo, startDemo } from '@atrium/demo/cluster.ts';
import { demoEvents, withAccessToken } from '@atrium/demo/events.ts';
import { demoConnector } from '@atrium/demo/ldap-server.ts';
import { type DemoRole, demoEnvironment, demoNamespace } from '@atrium/demo/objects.ts';
import type { KubernetesObject } from '@atrium/embedded-cluster/objects.ts';
import { type Network, publicNetwork } from '@atrium/http/outgoing.ts';
import { createLog } from '@atrium/http/telemetry/log.ts';
import { stringify } from 'yaml';
import { z } from 'zod';
import { App } from './app.ts';
import type { ProcessContext } from './base.ts';
import { issuerOf } from './config/issuers.ts';
import { parseConfig } from './config/load.ts';
import type { Config } from './config/schema.ts';
import { Passwords } from './users/passwords/passwords.ts';
import { passwordSecret } from './users/passwords/secret.ts';

/** Tests give passwords and keys that cost less. */
export interface SandboxOptions extends Pick<ProcessContext, 'passwords' | 'newSigningKeys'> {
  port: number;
  host: string;
  /** Number of generated users beside the named ones. */
  users: number;
  /** Origins of front-ends on other ports, which may call the API. */
  origin: string[];
  /** Addresses to which a login may redirect. */
  redirectUrl: string[];
  /** Directory of a page that replaces the console. */
  static?: string;
  /** Directory for the cluster's objects; without it they are in memory. */
  data?: string;
  /** Port of a mail server on this machine. */
  smtpPort?: number;
  /** Leaves workload lists, UserBindings, access tokens and access requests off, as in a minimal installation. */
  minimal?: true;
  /** File for scripts with addresses, users and tokens. */
  info?: string;
  /** Extends the deadlines of requests, for tests on a busy machine. */
  isPatient?: true;
  environment: ProcessContext['environment'];
  /** Parent directory of deploy/ and web/. */
  packageRoot: URL;
  /** Called once the options are known to be right. */
  prepare?: () => Promise<void>;
}

/** A running sandbox, with its welcome text. */
export interface Sandbox {
  readonly welcome: string;
  stop(options: { drain: boolean }): Promise<void>;
}

/**
 * Starts the service and the cluster. The file with secrets is written last, and removed at the stop.
 *
 * @throws ConfigError, or Error with a sentence about an option, before anything is started
 */
export async function runSandbox(options: SandboxOptions): Promise<Sandbox> {
  const reserved = await reservePort(options);
  try {
    await checkOptions(options);
    await options.prepare?.();
    return await start(options, reserved);
  } finally {
    await reserved.release();
  }
}

async function start(options: SandboxOptions, { port, release }: ReservedPort): Promise<Sandbox> {
  const started = performance.now();
  const url = urlOf(options.host, port);
  const { environment, newSigningKeys, passwords = new Passwords() } = options;
  const demo = await startDemo({
    host: options.host,
    users: options.users,
    isMinimal: options.minimal === true,
    ...(options.data !== undefined && { dataDirectory: options.data }),
    manifests: new URL('deploy/manifests/', options.packageRoot),
    plugin: await samplePlugin(new URL('web/template/', options.packageRoot)),
    hashPassword: (password) => passwords.hash(password),
    passwordSecret: (user, hash) => passwordSecret({ user, namespace: demoNamespace, hash, changedAt: new Date() }),
  });
  const { cluster, directory: ldap } = demo;
  const directory = options.data ?? (await mkdtemp(join(tmpdir(), 'atrium-')));
  const caFile = join(directory, 'directory-ca.crt');
  await writeFile(caFile, ldap.certificateAuthority);
  const connector = demoConnector(ldap.url, caFile);
  const config = demoConfig({ ...options, port, url, pluginsCaFile: join(directory, 'plugins-ca.crt'), ldap: [connector] });
  const issuer = issuerOf(config) ?? '';
  cluster.trustIssuer({ url: issuer, audiences: [config.login.clientID, ...config.login.audiences] });
  const auditStore = await SqliteStore.open(join(directory, 'audit.db'));
  // The audit begins with the oldest event that was appended first.
  if (cluster.isNew) await auditStore.append(demoEvents(new Date()));
  const app = demoApp(demo, { config, environment, passwords, auditStore, ...(newSigningKeys && { newSigningKeys }) });
  await release();
  await app.start();
  await whenReady(url);
  cluster.askTokenWebhook({ url: `${url}/auth/v1/tokenreviews`, token: demo.webhookToken });
  const made = cluster.isNew && config.features.accessTokens ? await makeAccessToken(url, demo) : undefined;
  if (made) await auditStore.append([withAccessToken(new Date(), made.id)]);
  const kubeconfig = join(directory, 'kubeconfig.yaml');
  await cluster.writeKubeconfig(kubeconfig, tokenOf(demo, 'admin'));
  if (options.info !== undefined) {
    const { people, images } = demo;
    const told = {
      url,
      issuer,
      kubeconfig,
      people,
      images,
      accessToken: made?.token,
      directory: { url: ldap.url, caFile, password: ldap.password },
    };
    await writeFile(options.info, `${JSON.stringify(told, null, 2)}\n`, { mode: 0o600 });
  }
  return {
    welcome: welcome({ demo, url, kubeconfig, config, seconds: (performance.now() - started) / 1000 }),
    async stop(stopping) {
      await app.stop(stopping);
      await auditStore.stop();
      await demo.stop();
      if (options.data === undefined) await rm(directory, { recursive: true, force: true });
      if (options.info !== undefined) await rm(options.info, { force: true });
    },
  };
}

/** Returns the objects of the sample plugin, as its author would apply them. */
async function samplePlugin(template: URL): Promise<KubernetesObject[]> {
  const { pluginObjects } = (await import(new URL('configmap.js', template).href)) as {
    pluginObjects: (built: string, namespace: string) => KubernetesObject[];
  };
  return pluginObjects(fileURLToPath(new URL('dist/', template)), demoNamespace);
}

const demoApp = (
  { cluster, rolledOut, serviceToken }: Demo,
  given: Pick<ProcessContext, 'config' | 'environment' | 'passwords' | 'newSigningKeys' | 'auditStore'>,
): App =>
  new App({
    ...given,
    connection: {
      server: cluster.url,
      tls: { ca: cluster.certificateAuthority },
      namespace: demoNamespace,
      authorization: async () => `Bearer ${serviceToken}`,
      discardAuthorization() {},
    },
    pluginContext: { network: demoNetwork },
    earlierUsage: () => rolledOut.then(() => (resource, at) => cluster.metricsAt(resource, at)),
    log: createLog({ level: 'warn', format: 'json' }),
  });

/** Services of the embedded cluster do not run: the plugins' servers are on this machine. Agents describe themselves at public addresses. */
const demoNetwork: Network = {
  resolve: async (host) => (host.endsWith('.svc') ? ['127.0.0.1'] : (await publicNetwork.resolve(host)).filter(isPublic)),
  isRefused: () => false,
};

const isPublic = (address: string) => !publicNetwork.isRefused(address);

/** Waits until the caches are filled, because requests that need them are refused before. */
async function whenReady(url: string): Promise<void> {
  const signal = AbortSignal.timeout(readyMs);
  while ((await fetch(`${url}/readyz`, { signal })).status !== 200) await setTimeout(pollMs, undefined, { signal });
}

const readyMs = 60_000;
const pollMs = 20;

const tokenOf = ({ people }: Demo, role: DemoRole): string => people.find((person) => person.role === role)?.token ?? '';

/** Creates an access token as the manager would for a program. */
async function makeAccessToken(url: string, demo: Demo): Promise<z.output<typeof madeToken>> {
  const headers = { authorization: `Bearer ${tokenOf(demo, 'manager')}`, 'content-type': 'application/json' };
  const answer = await fetch(`${url}/auth/v1/accesstoken`, { method: 'POST', headers, body: '{"description":"Nightly report"}' });
  return madeToken.parse(await answer.json());
}

const madeToken = z.object({ id: z.string(), token: z.string() });

interface ReservedPort {
  port: number;
  release(): Promise<unknown>;
}

/**
 * Reserves a port until it is released. If another process takes it before the service listens, the start fails with that error.
 *
 * @throws Error with a sentence about `--port` or `--host`
 */
async function reservePort({ host, port }: Pick<SandboxOptions, 'host' | 'port'>): Promise<ReservedPort> {
  // A client that waits for the demo tries again: it must not get a connection that is never answered.
  const server = createServer((socket) => socket.destroy()).listen(port, host);
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    throw new Error(portProblem(host, port, error), { cause: error });
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : port,
    async release() {
      if (!server.listening) return;
      server.close();
      await once(server, 'close');
    },
  };
}

function portProblem(host: string, port: number, { code, message }: NodeJS.ErrnoException): string {
  if (code === 'EADDRINUSE') return `port ${port} of ${host} is in use by another program: choose a free port, such as --port 8081`;
  if (code === 'EACCES') return `port ${port} needs rights that you do not have: choose a port above 1023, such as --port 8081`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return `--host ${host} is no address of this machine`;
  return message;
}

/** @throws ConfigError, or Error with a sentence about an option */
async function checkOptions(options: SandboxOptions): Promise<void> {
  const { host, port, static: page, data, info } = options;
  demoConfig({ ...options, url: urlOf(host, port || 8080), pluginsCaFile: join(tmpdir(), 'plugins-ca.crt'), ldap: [] });
  const check = (option: string, work: Promise<unknown>) =>
    work.catch((error: NodeJS.ErrnoException) => {
      throw new Error(`${option} (${error.code})`, { cause: error });
    });
  if (page !== undefined) await check(`--static ${page}: the directory has no readable index.html`, access(join(page, 'index.html')));
  if (data !== undefined) await check(`--data ${data}: the directory cannot be made`, mkdir(data, { recursive: true, mode: 0o700 }));
  if (info !== undefined) await check(`--info ${info}: the directory cannot be written`, access(dirname(info), constants.W_OK));
}

interface DemoSettings extends SandboxOptions {
  url: string;
  pluginsCaFile: string;
  ldap: unknown[];
}

function demoConfig({ host, port, url, packageRoot, pluginsCaFile, ldap, isPatient, ...options }: DemoSettings): Config {
  // Scripts may also start a login at the listener's address, whose cookies belong to that host.
  const addresses = [...new Set([url, `http://${inURL(host)}:${port}`])];
  return parseConfig({
    yaml: stringify({
      server: { host, port, metricsPort: 0, publicURL: url, corsOrigins: options.origin, ...(isPatient && { requestTimeout: '120s' }) },
      kubernetes: { namespace: demoNamespace, credentials: 'passthrough', ...(isPatient && { requestTimeout: '60s' }) },
      // The issuer redirects browsers to the page, and scripts to the operation that completes a login.
      login: {
        redirectURLs: [...addresses.flatMap((at) => [`${at}/`, `${at}/api/v2/token/callback`]), ...options.redirectUrl],
        postLogoutRedirectURLs: [...addresses.map((at) => `${at}/`), ...options.redirectUrl],
        audiences: ['kubectl'],
      },
      audit: { recordings: [{ mode: 'besteffort' }] },
      auditStore: { retention: { maxEvents: 1_000_000 } },
      profile: options.minimal ? 'minimal' : 'team',
      features: { mcp: !options.minimal },
      // The inspector has no document that describes it.
      ...(!options.minimal && {
        identity: { clients: [{ id: 'inspector', name: 'MCP Inspector', redirectURLs: ['http://localhost:6274/oauth/callback'] }] },
      }),
      users: { ldap, certificates: { enabled: !options.minimal } },
      ...(options.smtpPort !== undefined && {
        smtp: { host: '127.0.0.1', port: options.smtpPort, tls: 'none', from: 'Atrium demo <atrium@example.com>' },
      }),
      console: {
        static: { directory: options.static ?? fileURLToPath(new URL('web/dist', packageRoot)) },
        assetsHostPath: options.static ?? 'web/dist',
        plugins: { caFile: pluginsCaFile },
        metrics: { lastHour: true },
        envsConfigMap: demoEnvironment,
        envs: { CONSOLE_PUBLIC_CLUSTER: 'embedded' },
        environment: [{ key: 'title', value: 'Atrium demo' }],
        languages: [
          { id: 'en', name: 'English' },
          { id: 'de', name: 'Deutsch' },
          { id: 'zh', name: '中文' },
        ],
      },
    }),
  });
}

const inURL = (host: string) => (host.includes(':') ? `[${host}]` : host);

const urlOf = (host: string, port: number) => `http://${shownHost(host)}:${port}`;

/** Returns the name `localhost` for this machine, because browsers have no passkeys at IP addresses. */
const shownHost = (host: string) => (['127.0.0.1', '::1', '0.0.0.0', '::'].includes(host) ? 'localhost' : inURL(host));

const rights = {
  admin: 'Ada administers the cluster',
  manager: 'Max manages users, groups and bindings',
  viewer: 'Vera sees users, and the namespace shop',
  nobody: 'Noa has no role',
} as const satisfies Record<DemoRole, string>;

/** The story that the demo is made for: a user, the way through the console, and an approver. */
const story = `
See a right requested, approved and ended, in two browser windows, one of them private:
  Vera asks      Deployments, storefront, More actions, "Ask for it: Restart": a reason, Ask
  Ada approves   Requests, the request of viewer@example.com, Approve
  It ends        when its time is over, or with "End now"
`;

interface Welcome {
  demo: Demo;
  url: string;
  kubeconfig: string;
  config: Config;
  seconds: number;
}

/** Returns the welcome text, for a screen. Tokens are for scripts, which read them from the file of `--info`. */
function welcome({ demo, url, kubeconfig, config, seconds }: Welcome): string {
  const people = demo.people.map(({ email, role, password }) => `  ${email.padEnd(21)} ${password}   ${rights[role]}`);
  return `
Atrium is ready after ${seconds.toFixed(1)} s: ${url}

Open this address in a browser and log in as a user of the demo:
${people.join('\n')}
${config.features.accessRequests ? story : ''}
Or try:
  curl '${url}/api/v1/modules?pretty=true'
  kubectl --kubeconfig ${kubeconfig} get users

The embedded cluster has ${demo.users} users. It is for first steps and tests only.
Try the API at ${url}/docs. Scripts get tokens by --info FILE. Press Ctrl-C to stop.`;
}

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AuditDatabase } from '@atrium/audit-store/store.ts';
import { createLog } from '@atrium/http/telemetry/log.ts';
import { fetch, type RequestInit, type Response } from 'undici';
import { stringify } from 'yaml';
import { parseConfig } from '../../src/config/load.ts';
import type { PluginContext } from '../../src/plugins/plugins.ts';
import { Browser } from '../service/identity/browser.ts';
import { aUser } from '../service/users/a-user.ts';
import { apiServer, type OwnApiServer } from './api-server.ts';
import { cheapPasswords } from './cheap-passwords.ts';
import { type ClusterAdmin, eventually, serviceNamespace as namespace } from './cluster-admin.ts';
import { freePort } from './free-port.ts';
import { install } from './installed-cluster.ts';
import { addLocalUser } from './local-user.ts';
import { patient } from './server.ts';
import { aPage } from './static-directory.ts';
import { TestApp } from './test-app.ts';
import { Trusting } from './trusting.ts';

export interface EmbeddedLogin {
  /** https URL of the service. */
  url: string;
  /** URLs of all replicas. The first one is the URL of the issuer. */
  urls: readonly string[];
  metricsURL: string;
  /** Path of the PEM bundle that verifies the service, and the cluster. */
  caFile: string;
  cluster: OwnApiServer;
  /** Connections that trust the certificate of the service. */
  dispatcher: Trusting;
  admin: ClusterAdmin;
  /** Lines of the log at level debug, and of the audit trail. */
  lines: string[];
  /** @param at another replica than the first */
  request(
    path: string,
    init?: Pick<RequestInit, 'method' | 'headers' | 'body' | 'redirect' | 'duplex' | 'signal'>,
    at?: string,
  ): Promise<Response>;
  /**
   * Logs in until the UserInfo answer, or the page of a refusal. Returns it with the browser that has the session and the address to which the issuer redirected.
   * Storage is `cookie` unless the parameters name another one; `at` is the replica that gets all requests, also those to the issuer.
   */
  logIn(
    email: string,
    password: string,
    parameters?: string,
    at?: string,
  ): Promise<{ browser: Browser; back: URL; status: number; body: string }>;
  /** Logs in up to the answer of the issuer, which is not sent to the service yet. A refusal has the page with the reason. */
  authorize(
    email: string,
    password: string,
    parameters?: string,
    at?: string,
  ): Promise<{ browser: Browser; back: URL; refusal: number; page: string }>;
  stop(): Promise<void>;
}

export interface EmbeddedLoginOptions {
  emails: readonly string[];
  /** Password of all users. They are in the group `dev`. */
  password: string;
  /** Authentication at the cluster. Default: the cluster trusts the provider, as in the demo. */
  credentials?: 'passthrough' | 'impersonate';
  /** Settings of kubernetes, as in the YAML file. */
  kubernetes?: Record<string, unknown>;
  /** Settings of users, as in the YAML file. */
  users?: Record<string, unknown>;
  /** Settings of the provider, as in the YAML file. */
  identity?: Record<string, unknown>;
  /** Settings of login, as in the YAML file. */
  login?: Record<string, unknown>;
  /** Issuers beside the embedded one, which comes first and has the id `local`; settings as in the YAML file. */
  issuers?: readonly Record<string, unknown>[];
  /** Switches of the extensions, as in the YAML file. */
  features?: Record<string, boolean>;
  /** Settings of access requests, as in the YAML file. */
  accessRequests?: Record<string, unknown>;
  mcp?: Record<string, unknown>;
  /** Settings of the token exchange, as in the YAML file. */
  tokenExchange?: Record<string, unknown>;
  /** Settings of lists, as in the YAML file. */
  lists?: Record<string, unknown>;
  /** Ids of `console.languages`, in order. Default: the default of the setting. */
  languages?: readonly string[];
  /** Settings of the mail server, as in the YAML file; its certificate is the cluster's. */
  smtp?: Record<string, unknown>;
  /** Proxies whose X-Forwarded-For is trusted. */
  trustedProxies?: readonly string[];
  maxInFlight?: number;
  replicas?: number;
  /** Starts a proxy between the service and the cluster. */
  between?: (cluster: OwnApiServer) => Promise<{ url: string; stop(): Promise<void> }>;
  /** Runs workloads in the embedded cluster. */
  hasWorkloads?: boolean;
  /** Directory of the static files. Default: a small page instead of the console. */
  files?: string;
  /** Keeps audit events; the test stops it. */
  auditStore?: AuditDatabase;
  /** Settings of the audit, as in the YAML file. */
  audit?: Record<string, unknown>;
  /** Clock of the service. */
  now?: () => Date;
  /** Milliseconds by which the clock of each replica's machine is ahead. Default: 0. */
  clocksAhead?: readonly number[];
  /** Host in the URL of the service. Browsers create passkeys at `localhost`, and at no IP address. */
  host?: '127.0.0.1' | 'localhost';
  /** Network of plugins, and of agents that describe themselves. */
  pluginContext?: PluginContext;
}

/**
 * Starts the service with its own provider, over https, because kube-apiserver trusts no other issuers. @throws Error if it does not start;
 * all its parts are stopped
 */
export async function startEmbeddedLogin(options: EmbeddedLoginOptions): Promise<EmbeddedLogin> {
  // Functions that stop the parts, in the order of their start.
  const started: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (const one of started.toReversed()) await one();
  };
  try {
    return { ...(await startAll(options, started)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** @param started receives the function that stops each part, as soon as the part runs */
async function startAll(
  {
    emails,
    password,
    credentials = 'passthrough',
    kubernetes = {},
    users = {},
    identity = {},
    login = {},
    issuers,
    features = {},
    accessRequests = {},
    mcp = {},
    tokenExchange = {},
    lists = {},
    languages,
    smtp,
    trustedProxies = [],
    maxInFlight = 1_000,
    replicas: count = 1,
    files = aPage,
    host = '127.0.0.1',
    between,
    hasWorkloads = false,
    auditStore,
    audit = {},
    now,
    clocksAhead = [],
    pluginContext,
  }: EmbeddedLoginOptions,
  started: (() => Promise<void>)[],
): Promise<Omit<EmbeddedLogin, 'stop'>> {
  const cluster = await apiServer({ isReused: true, hasWorkloads });
  started.push(() => cluster.stop());
  const admin = await install(cluster);
  started.push(() => admin.close());
  if (credentials === 'impersonate') await admin.applyFile('impersonation.yaml');
  if (features?.mcp) await admin.applyFile('agents.yaml');
  if (auditStore) await admin.applyFile('audit-store.yaml', ['Role', 'RoleBinding']);
  const middle = await between?.(cluster);
  if (middle) started.push(() => middle.stop());
  const hash = await cheapPasswords().hash(password);
  for (const email of emails) await addLocalUser(admin, aUser(email, { groups: ['dev'] }), hash);
  const directory = await mkdtemp(join(tmpdir(), 'atrium-embedded-login-'));
  started.push(() => rm(directory, { recursive: true }));
  const file = async (name: string, text: string) => {
    await writeFile(join(directory, name), text, { mode: 0o600 });
    return join(directory, name);
  };
  const tls = { certFile: await file('serving.crt', cluster.serving.certificate), keyFile: await file('serving.key', cluster.serving.key) };
  const caFile = await file('ca.crt', cluster.certificateAuthority);
  const port = await freePort();
  const url = `https://${host}:${port}`;
  const authorization = `Bearer ${await admin.serviceToken()}`;
  const lines: string[] = [];
  const write = (line: string) => lines.push(line);
  const dispatcher = new Trusting(cluster.certificateAuthority);
  started.push(() => dispatcher.close());
  const request: EmbeddedLogin['request'] = (path, init, at = url) => fetch(`${at}${path}`, { dispatcher, ...init });
  const isReady = (at = url) =>
    eventually(
      async () => (await request('/readyz?verbose', {}, at)).text(),
      (report) => !/^\[-\](?!identity-provider-)/m.test(report),
    );
  const startReplica = async (listenOn: number, aheadMs = 0) => {
    const app = new TestApp({
      config: parseConfig({
        yaml: stringify({
          server: {
            ...patient.server,
            host: '127.0.0.1',
            port: listenOn,
            metricsPort: 0,
            publicURL: url,
            tls,
            trustedProxies,
            maxInFlight,
          },
          kubernetes: { ...patient.kubernetes, namespace, credentials, ...kubernetes },
          login: {
            perMinute: 1_000_000,
            ...(issuers ? { issuers: [{ id: 'local', name: 'Local users', caFile }, ...issuers] } : { caFile }),
            ...login,
          },
          console: { static: { directory: files }, ...(languages && { languages: languages.map((id) => ({ id, name: id })) }) },
          users,
          identity,
          features,
          accessRequests,
          mcp,
          tokenExchange,
          lists,
          audit,
          ...(smtp && { smtp: { caFile, ...smtp } }),
        }),
      }),
      connection: {
        server: middle?.url ?? cluster.url,
        tls: { ca: cluster.certificateAuthority },
        namespace,
        authorization: async () => authorization,
        discardAuthorization() {},
      },
      environment: {},
      ...(auditStore && { auditStore }),
      ...(now && { now }),
      ...(pluginContext && { pluginContext }),
      wallClock: () => new Date(Date.now() + aheadMs),
      log: createLog({ level: 'debug', format: 'json' }, { write }),
      writeAudit: write,
    });
    started.push(() => app.stop());
    const ports = await app.start();
    const replica = { app, url: `https://127.0.0.1:${ports.port}`, metricsURL: `http://127.0.0.1:${ports.metricsPort}` };
    await isReady(replica.url);
    return replica;
  };
  const first = await startReplica(port, clocksAhead[0]);
  const replicas = [first];
  while (replicas.length < count) replicas.push(await startReplica(0, clocksAhead[replicas.length]));
  if (credentials === 'passthrough') {
    await cluster.trustIssuer({ url: `${url}/identity`, audiences: ['atrium', 'kubectl'] });
    await isReady();
  }
  const authorize: EmbeddedLogin['authorize'] = async (email, given, parameters = '?token_storage=cookie', at = url) => {
    const browser = new Browser(url, [at], { dispatcher });
    const { auth_url } = JSON.parse((await browser.get(`${url}/api/v2/token/login${parameters}`)).body);
    const { url: back, response, body } = await browser.submit(await browser.get(auth_url), { email, password: given });
    return { browser, back, refusal: response.status, page: body };
  };
  return {
    url,
    urls: replicas.map((replica) => replica.url),
    metricsURL: first.metricsURL,
    caFile,
    cluster,
    dispatcher,
    admin,
    lines,
    request,
    authorize,
    async logIn(email, given, parameters, at) {
      const { browser, back, refusal, page } = await authorize(email, given, parameters, at);
      if (!back.searchParams.has('code')) return { browser, back, status: refusal, body: page };
      const { response, body } = await browser.get(`${url}/api/v2/token/callback${back.search}`);
      return { browser, back, status: response.status, body };
    },
  };
}

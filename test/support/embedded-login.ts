import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, fetch, type RequestInit, type Response } from 'undici';
import { stringify } from 'yaml';
import { Passwords } from '../../src/accounts/passwords.ts';
import { App } from '../../src/app.ts';
import { parseConfig } from '../../src/config/load.ts';
import { createLog } from '../../src/http/log.ts';
import { Browser } from '../identity/browser.ts';
import { aUser } from '../users/a-user.ts';
import { apiServer, type OwnApiServer } from './api-server.ts';
import { ClusterAdmin, eventually, serviceNamespace as namespace } from './cluster-admin.ts';
import { freePort } from './free-port.ts';
import { addLocalUser } from './local-user.ts';

export interface EmbeddedLogin {
  /** https */
  url: string;
  metricsURL: string;
  /** Path of the PEM bundle that verifies the service, and the cluster. */
  caFile: string;
  cluster: OwnApiServer;
  admin: ClusterAdmin;
  /** Of the log at level debug, and of the audit trail. */
  lines: string[];
  request(path: string, init?: Pick<RequestInit, 'method' | 'headers' | 'body'>): Promise<Response>;
  /** Up to UserInfo, with the browser that has the session, and the address that the issuer sent it back to. */
  logIn(email: string, password: string, parameters?: string): Promise<{ browser: Browser; back: URL; status: number; body: string }>;
  stop(): Promise<void>;
}

export interface EmbeddedLoginOptions {
  emails: readonly string[];
  /** Of all of them. They are in the group `dev`. */
  password: string;
  /** How the cluster learns who somebody is. Default: as the demo's, it trusts the provider. */
  credentials?: 'passthrough' | 'impersonate';
}

/** The assembled service with its own provider, over https, since kube-apiserver trusts no other. */
export async function startEmbeddedLogin({ emails, password, credentials = 'passthrough' }: EmbeddedLoginOptions): Promise<EmbeddedLogin> {
  const cluster = await apiServer();
  const admin = new ClusterAdmin(cluster, await cluster.token('admin'));
  await admin.install();
  if (credentials === 'impersonate') await admin.applyFile('impersonation.yaml');
  const hash = await new Passwords().hash(password);
  for (const email of emails) await addLocalUser(admin, aUser(email, { groups: ['dev'] }), hash);
  const directory = await mkdtemp(join(tmpdir(), 'atrium-embedded-login-'));
  const file = async (name: string, text: string) => {
    await writeFile(join(directory, name), text, { mode: 0o600 });
    return join(directory, name);
  };
  const tls = { certFile: await file('serving.crt', cluster.serving.certificate), keyFile: await file('serving.key', cluster.serving.key) };
  const caFile = await file('ca.crt', cluster.certificateAuthority);
  const port = await freePort();
  const url = `https://127.0.0.1:${port}`;
  const authorization = `Bearer ${await admin.serviceToken()}`;
  const lines: string[] = [];
  const write = (line: string) => lines.push(line);
  const app = new App({
    config: parseConfig({
      yaml: stringify({
        server: { host: '127.0.0.1', port, metricsPort: 0, publicURL: url, tls },
        kubernetes: { namespace, credentials },
        login: { perMinute: 1_000_000, caFile },
        console: { static: { directory: 'web/public' } },
      }),
    }),
    connection: {
      server: cluster.url,
      tls: { ca: cluster.certificateAuthority },
      namespace,
      authorization: async () => authorization,
      discardAuthorization() {},
    },
    environment: {},
    log: createLog({ level: 'debug', format: 'json' }, { write }),
    writeAudit: write,
  });
  const { metricsPort } = await app.start();
  const dispatcher = new Agent({ connect: { ca: cluster.certificateAuthority } });
  const request: EmbeddedLogin['request'] = (path, init) => fetch(`${url}${path}`, { dispatcher, ...init });
  const isReady = () =>
    eventually(
      async () => (await request('/readyz?verbose')).text(),
      (report) => !report.includes('[-]'),
    );
  await isReady();
  if (credentials === 'passthrough') {
    await cluster.trustIssuer({ url: `${url}/identity`, audiences: ['atrium'] });
    await isReady();
  }
  return {
    url,
    metricsURL: `http://127.0.0.1:${metricsPort}`,
    caFile,
    cluster,
    admin,
    lines,
    request,
    async logIn(email, given, parameters = '') {
      const browser = new Browser(url, [url], { dispatcher });
      const { auth_url } = JSON.parse((await browser.get(`${url}/api/v2/token/login${parameters}`)).body);
      const { url: back, response: refusal } = await browser.submit(await browser.get(auth_url), { email, password: given });
      if (!back.searchParams.has('code')) return { browser, back, status: refusal.status, body: '' };
      const { response, body } = await browser.get(`${url}/api/v2/token/callback${back.search}`);
      return { browser, back, status: response.status, body };
    },
    async stop() {
      await dispatcher.close();
      await app.stop();
      await admin.close();
      await cluster.stop();
      await rm(directory, { recursive: true });
    },
  };
}

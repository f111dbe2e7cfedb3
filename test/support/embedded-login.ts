import { createServer } from 'node:net';
import { stringify } from 'yaml';
import { passwordSecret } from '../../src/accounts/password-secret.ts';
import { Passwords } from '../../src/accounts/passwords.ts';
import { App } from '../../src/app.ts';
import { parseConfig } from '../../src/config/load.ts';
import { createLog } from '../../src/http/log.ts';
import { Cluster } from '../../src/sandbox/cluster.ts';
import { demoUser } from '../../src/sandbox/demo-objects.ts';
import { recordName } from '../../src/sandbox/demo-people.ts';
import { Browser } from '../identity/browser.ts';
import { ClusterAdmin, serviceNamespace as namespace } from './cluster-admin.ts';

export interface EmbeddedLogin {
  url: string;
  metricsURL: string;
  admin: ClusterAdmin;
  /** Of the log at level debug, and of the audit trail. */
  lines: string[];
  /** Up to UserInfo, with the browser that has the session, and the address that the issuer sent it back to. */
  logIn(email: string, password: string, parameters?: string): Promise<{ browser: Browser; back: URL; status: number; body: string }>;
  stop(): Promise<void>;
}

/** The assembled service with its own provider, on an embedded cluster that trusts it: as the demo, with these people and one password. */
export async function startEmbeddedLogin(emails: readonly string[], password: string): Promise<EmbeddedLogin> {
  const cluster = await Cluster.start();
  const admin = new ClusterAdmin(cluster, await cluster.issueToken({ username: 'admin', groups: ['system:masters'] }));
  await admin.install();
  const hash = await new Passwords().hash(password);
  for (const email of emails) {
    const [user] = await cluster.apply(demoUser({ email, displayName: email, groups: ['dev'] }, new Date()));
    const name = recordName(email);
    await cluster.apply(passwordSecret({ user: { name, uid: user?.metadata.uid ?? '' }, namespace, hash, changedAt: new Date() }));
  }
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  cluster.trustIssuer({ url: `${url}/identity`, audiences: ['atrium'] });
  const authorization = `Bearer ${await admin.serviceToken()}`;
  const lines: string[] = [];
  const write = (line: string) => lines.push(line);
  const app = new App({
    config: parseConfig({
      yaml: stringify({
        server: { host: '127.0.0.1', port, metricsPort: 0, publicURL: url },
        kubernetes: { namespace, credentials: 'passthrough' },
        login: { perMinute: 1_000_000 },
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
  return {
    url,
    metricsURL: `http://127.0.0.1:${metricsPort}`,
    admin,
    lines,
    async logIn(email, given, parameters = '') {
      const browser = new Browser(url, [url]);
      const { auth_url } = JSON.parse((await browser.get(`${url}/api/v2/token/login${parameters}`)).body);
      const { url: back, response: refusal } = await browser.submit(await browser.get(auth_url), { email, password: given });
      if (!back.searchParams.has('code')) return { browser, back, status: refusal.status, body: '' };
      const { response, body } = await browser.get(`${url}/api/v2/token/callback${back.search}`);
      return { browser, back, status: response.status, body };
    },
    async stop() {
      await app.stop();
      await admin.close();
      await cluster.stop();
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address ? address.port : 0;
}

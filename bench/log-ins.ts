/**
 * Log-ins per second, end to end with the embedded provider: login, log-in page, password, callback, a session. Beside it how many
 * passwords a second this machine can check at all, which is the bound that nobody gets around.
 *
 * Service, provider, cluster and browsers share one process here, so the first number is the least to be had. Run: node bench/log-ins.ts
 */
import { createServer } from 'node:net';
import { stringify } from 'yaml';
import { passwordSecret } from '../src/accounts/password-secret.ts';
import { Passwords } from '../src/accounts/passwords.ts';
import { App } from '../src/app.ts';
import { parseConfig } from '../src/config/load.ts';
import { createLog } from '../src/http/log.ts';
import { Cluster } from '../src/sandbox/cluster.ts';
import { demoUser } from '../src/sandbox/demo-objects.ts';
import { recordName } from '../src/sandbox/demo-people.ts';
import { Browser } from '../test/identity/browser.ts';
import { ClusterAdmin, serviceNamespace as namespace } from '../test/support/cluster-admin.ts';

const people = 40;
const rounds = 5;
const atOnce = 8;
const password = 'correct horse battery staple';

const cluster = await Cluster.start();
const admin = new ClusterAdmin(cluster, await cluster.issueToken({ username: 'admin', groups: ['system:masters'] }));
await admin.install();
const passwords = new Passwords();
const hash = await passwords.hash(password);
const emails = Array.from({ length: people }, (_, index) => `person${index}@example.com`);
for (const email of emails) {
  const [user] = await cluster.apply(demoUser({ email, displayName: email, groups: ['dev'] }, new Date()));
  await cluster.apply(
    passwordSecret({ user: { name: recordName(email), uid: user?.metadata.uid ?? '' }, namespace, hash, changedAt: new Date() }),
  );
}

const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const authorization = `Bearer ${await admin.serviceToken()}`;
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
  log: createLog({ level: 'error', format: 'json' }),
});
cluster.trustIssuer({ url: `${url}/identity`, audiences: ['atrium'] });
await app.start();

await logIn(emails[0] ?? '');
const begun = performance.now();
for (let round = 0; round < rounds; round += 1) {
  const waiting = [...emails];
  const one = async () => {
    for (let email = waiting.pop(); email !== undefined; email = waiting.pop()) await logIn(email);
  };
  await Promise.all(Array.from({ length: atOnce }, one));
}
const perLogIn = (performance.now() - begun) / (people * rounds);

const checks = 100;
const checked = performance.now();
await Promise.all(Array.from({ length: checks }, () => passwords.verify(password, hash)));
const perCheck = (performance.now() - checked) / checks;

console.log(`log-ins, ${atOnce} at once     ${(1000 / perLogIn).toFixed(1).padStart(7)}/s`);
console.log(`password checks alone  ${(1000 / perCheck).toFixed(1).padStart(7)}/s`);
console.log(`share of hashing in a log-in ${((100 * perCheck) / perLogIn).toFixed(0)} %`);
await app.stop();
await admin.close();
await cluster.stop();

async function logIn(email: string): Promise<void> {
  const browser = new Browser(url, [url]);
  const { auth_url } = JSON.parse((await browser.get(`${url}/api/v2/token/login`)).body);
  const { url: back } = await browser.submit(await browser.get(auth_url), { email, password });
  const { response, body } = await browser.get(`${url}/api/v2/token/callback${back.search}`);
  if (response.status !== 200) throw new Error(`${email}: ${response.status} ${body}`);
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address ? address.port : 0;
}

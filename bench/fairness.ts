/**
 * Compares the times of 20 clients that behave with those of a quiet service, while a thread fills what a request can wait for, slowed to 2
 * and to 15 seconds. Quiet and filled rounds alternate, because the machine has other work. Prints the median of the ratios of their 95th
 * percentiles, and refusals; the bar is a ratio under 3 and no refusal. Takes about eight minutes. Run: node bench/fairness.ts [ROW…]
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { delay, FaultProxy, type ProxiedRequest } from '../test/cluster/faults/fault-proxy.ts';
import { aGroup, groups } from '../test/service/groups/support.ts';
import type { Browser } from '../test/service/identity/browser.ts';
import { TwoIssuers } from '../test/service/login/two-issuers.ts';
import { startPluginSuite } from '../test/service/plugins/support.ts';
import { aUser, nameOf } from '../test/service/users/a-user.ts';
import type { OwnApiServer, Person } from '../test/support/api-server.ts';
import { eventually } from '../test/support/cluster-admin.ts';
import { grant } from '../test/support/grants.ts';
import { ScriptedDirectory } from '../test/support/scripted-directory.ts';
import type { Flood, FloodRequest } from './flood.ts';

const clients = 20;
const requestsOfClient = 40;
const rounds = 3;
const connections = 600;
const fillMs = 5_000;
const networks = ['203.0.113.1', '203.0.113.2', '203.0.113.3'];
const by = { 'one address': networks.slice(0, 1), 'three networks': networks };

/** A service that is filled. */
interface Target {
  name: string;
  url: string;
  certificateAuthority: string;
  metricsURL: string;
  /** Sends a request of a client that behaves. @returns its status */
  behave(client: number, index: number): Promise<number>;
  rows: readonly Row[];
  stop(): Promise<void>;
}

interface Row {
  name: string;
  /** Slows what the requests wait for. @returns a function that ends it */
  slow(ms: number): () => void;
  requests: readonly FloodRequest[];
  /** True if the wait has a bound of its own, so that one run is enough. */
  isBounded?: true;
}

const from = (address: string, headers: Record<string, string> = {}) => ({ 'x-forwarded-for': address, ...headers });
const of = <T>(all: readonly T[], index: number): T => all[index % all.length] as T;
const proxied = async ({ url, certificateAuthority, serving }: OwnApiServer) =>
  FaultProxy.start({ target: url, certificateAuthority, serving });

/** Waits for the API server, for locks, for a version and for plugins. */
async function apiTarget(): Promise<Target> {
  const faults = Promise.withResolvers<FaultProxy>();
  let slowMs = 0;
  const suite = await startPluginSuite({
    config: { server: { trustedProxies: ['127.0.0.1'] }, kubernetes: { accessCache: '1h' }, log: { level: 'error' } },
    async between(cluster) {
      const proxy = await proxied(cluster);
      faults.resolve(proxy);
      return proxy;
    },
  });
  const { server } = suite;
  const proxy = await faults.promise;
  const users = '/auth/v2/users';
  const namespaces = '/api/kubernetes/api/v1/namespaces';
  const people: Person[] = ['viewer', 'alice', 'bob', 'carol'];
  const member = nameOf('member@example.com');
  const chiefs = ['one@example.com', 'two@example.com'];
  const metadata = { name: 'all-rights' };
  await server.kubernetes.apply(
    ...[...chiefs.map((email) => aUser(email, { is_admin: true })), aUser('member@example.com')],
    ...people.map((person) => aGroup(`team-of-${person}`)),
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata,
      rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
    },
  );
  const tokens: string[] = [];
  for (const person of people) {
    await grant(server.kubernetes, person, metadata.name);
    const token = await server.token(person);
    tokens.push(token);
    await eventually(
      async () => (await server.request(users, { token })).status,
      (status) => status === 200,
    );
  }
  await suite.plugin('shop', {
    proxy: [{ alias: 'api', service: suite.reference() }],
    backend: { service: suite.reference() },
  });
  suite.service.handle = (incoming, response) => {
    const isSlow = incoming.url?.includes('slow') ?? false;
    setTimeout(() => response.setHeader('content-type', 'text/plain').end('served'), isSlow ? slowMs : 0);
  };
  const [viewer = '', ...others] = tokens;
  const asViewer = from(networks[0] ?? '', { authorization: `Bearer ${viewer}`, 'content-type': 'application/json' });
  const slowCalls = (matches: (request: ProxiedRequest) => boolean) => (ms: number) => {
    proxy.inject(delay(ms), matches);
    return () => proxy.mend();
  };
  const slowPlugin = (ms: number) => {
    slowMs = ms;
    return () => {
      slowMs = 0;
    };
  };
  const isOfViewer = ({ headers }: ProxiedRequest) => headers.authorization === `Bearer ${viewer}`;
  const review = { spec: { resourceAttributes: { verb: 'get', resource: 'pods', name: '{n}' } } };
  const ofStrangers = Object.entries(by).flatMap(([who, addresses]): Row[] => [
    {
      name: `${who}: SelfSubjectReviews of unknown bearers`,
      slow: slowCalls(({ headers }) => /unknown-/.test(String(headers.authorization))),
      requests: addresses.map((address) => ({ path: users, headers: from(address, { authorization: 'Bearer unknown-{n}' }) })),
    },
    {
      name: `${who}: files of a plugin`,
      slow: slowPlugin,
      requests: addresses.map((address) => ({ path: '/plugins/shop/slow-{n}.js', headers: from(address) })),
    },
  ]);
  return {
    name: 'API server and plugins',
    url: server.url,
    certificateAuthority: server.cluster.certificateAuthority,
    metricsURL: server.metricsURL,
    async behave(client, index) {
      const path = of(['/', users, namespaces, '/readyz', '/api/proxy/plugin/shop/api/x'], index);
      const headers = from(client % 2 === 0 ? (networks[0] ?? '') : `198.51.100.${client}`);
      const response = await server.request(path, { token: of(others, client), headers });
      await response.arrayBuffer();
      return response.status;
    },
    rows: [
      ...ofStrangers,
      {
        name: 'one person: the Kubernetes API',
        slow: slowCalls((request) => isOfViewer(request) && request.path === '/api/v1/namespaces'),
        requests: [{ path: namespaces, headers: asViewer }],
      },
      {
        name: 'one person: access reviews',
        slow: slowCalls((request) => isOfViewer(request) && request.path.endsWith('/selfsubjectaccessreviews')),
        requests: Array.from({ length: 5_000 }, (_, index) => ({
          path: '/auth/v1/selfsubjectaccessreviews',
          method: 'POST',
          headers: asViewer,
          body: JSON.stringify(review).replace('{n}', `pod-${index}`),
        })),
      },
      { name: 'one person: a plugin', slow: slowPlugin, requests: [{ path: '/api/proxy/plugin/shop/api/slow', headers: asViewer }] },
      {
        name: 'one person: changes of a group',
        slow: slowCalls(({ method, path }) => method === 'PATCH' && path.endsWith('/groups/team-of-viewer')),
        requests: (['POST', 'DELETE'] as const).map((method) => ({
          path: `${groups}/team-of-viewer/members`,
          method,
          headers: asViewer,
          body: JSON.stringify({ names: [member] }),
        })),
      },
      {
        name: 'one person: the Lease of administrators',
        slow: slowCalls(({ path }) => path.endsWith('/leases/atrium-administrators')),
        requests: chiefs.map((email) => ({
          path: `/auth/v1/users/${nameOf(email)}`,
          method: 'DELETE',
          headers: asViewer,
          // Deletes none.
          body: JSON.stringify({ preconditions: { resourceVersion: '1' } }),
        })),
      },
      {
        name: 'one person: a future version',
        slow: () => () => undefined,
        requests: [{ path: `${users}?resourceVersion=99999999999999999999`, headers: asViewer }],
        isBounded: true,
      },
    ],
    stop: () => suite.stop(),
  };
}

/** Waits for an issuer and for a directory. */
async function loginTarget(): Promise<Target> {
  const password = 'correct horse battery staple';
  const emails = Array.from({ length: 8 }, (_, index) => `local-${index}@example.com`);
  let holdMs = 0;
  const hold = () => sleep(holdMs);
  const directory = await ScriptedDirectory.start({ entries: [], hold });
  const issuers = await TwoIssuers.start(
    {},
    {
      emails,
      password,
      trustedProxies: ['127.0.0.1'],
      users: { lockout: { failures: 100_000 }, ldap: [{ id: 'corp', name: 'corp', url: directory.url, baseDN: 'dc=example,dc=com' }] },
    },
  );
  const { service, corp } = issuers;
  const cookieOf = (browser: Browser) => browser.cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
  const sessions: string[] = [];
  for (const email of emails) sessions.push(cookieOf((await service.logIn(email, password, '?token_storage=cookie&issuer=local')).browser));
  const refreshPath = (body: unknown) => {
    const { ext } = body as { ext: { token: { refresh_token: string } } };
    return `/api/v2/token/refresh?${new URLSearchParams({ refresh_token: ext.token.refresh_token })}`;
  };
  const seals: string[] = [];
  while (seals.length < 150) {
    corp.become();
    seals.push(refreshPath((await issuers.logInAtCorp({ storage: 'local' })).body));
  }
  corp.become('of-one-person');
  const session = await issuers.logInAtCorp();
  const own = { path: refreshPath(session.body), headers: from(networks[0] ?? '', { cookie: cookieOf(session.browser) }) };
  const slow = (ms: number) => {
    holdMs = ms;
    issuers.behave({ keepsRefreshTokens: true, hold: ({ endpoint }) => (endpoint === 'token' ? hold() : undefined) });
    return () => {
      holdMs = 0;
      issuers.behave();
    };
  };
  /** Returns the form of the embedded issuer for a password, opened at an address. */
  const form = async (address: string, cookies = ''): Promise<FloodRequest> => {
    const browser = issuers.newBrowser();
    const { body } = await browser.get(`${service.url}/api/v2/token/login?token_storage=cookie&issuer=local`);
    const page = await browser.get(JSON.parse(body).auth_url);
    const [, action = ''] = /<form[^>]* action="([^"]*)"/.exec(page.body) ?? [];
    const fields = new URLSearchParams({ email: 'unknown@example.com', password: 'wrong' });
    for (const [, name = '', value = ''] of page.body.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g))
      fields.set(name, value);
    const headers = { 'content-type': 'application/x-www-form-urlencoded', cookie: `${cookieOf(browser)}; ${cookies}` };
    return { path: new URL(action, page.url).pathname, method: 'POST', headers: from(address, headers), body: fields.toString() };
  };
  const forms = await Promise.all(networks.map((address) => form(address)));
  const emailed = (one: FloodRequest, index: number): FloodRequest => ({
    ...one,
    body: (one.body ?? '').replace('unknown%40', `unknown-${index}%40`),
  });
  const many = (all: readonly FloodRequest[]) => Array.from({ length: 3_000 }, (_, index) => emailed(of(all, index), index));
  const ofStrangers = Object.entries(by).flatMap(([who, addresses]): Row[] => [
    {
      name: `${who}: renewals at an issuer`,
      slow,
      requests: seals.map((path, index) => ({ path, headers: from(of(addresses, index)) })),
    },
    { name: `${who}: passwords at a directory`, slow, requests: many(forms.slice(0, addresses.length)) },
  ]);
  const logIn = async (email: string) => (await service.logIn(email, password, '?token_storage=cookie&issuer=local')).status;
  return {
    name: 'issuer and directory',
    url: service.url,
    certificateAuthority: service.cluster.certificateAuthority,
    metricsURL: service.metricsURL,
    async behave(client, index) {
      // A local user logs in while the directory hangs.
      if (client < 2 && index % 5 === 0) return logIn(of(emails, client));
      const path = of(['/', '/api/v2/token/info', '/identity/.well-known/openid-configuration', '/readyz'], index);
      const headers = from(client % 2 === 0 ? (networks[0] ?? '') : `198.51.100.${client}`, { cookie: of(sessions.slice(2), client) });
      const response = await service.request(path, { headers });
      await response.arrayBuffer();
      return response.status;
    },
    rows: [
      ...ofStrangers,
      { name: 'one person: renewals at an issuer', slow, requests: [own] },
      { name: 'one person: passwords at a directory', slow, requests: many([await form(networks[0] ?? '', sessions[0])]) },
    ],
    async stop() {
      await issuers.stop();
      await directory.stop();
    },
  };
}

/** Returns the 95th percentile in milliseconds, and the number of refusals. */
async function behave(target: Target): Promise<{ p95: number; refused: number }> {
  const times: number[] = [];
  let refused = 0;
  const work = async (client: number) => {
    for (let index = 0; index < requestsOfClient; index += 1) {
      const begun = performance.now();
      const status = await target.behave(client, index);
      if (status !== 200) refused += 1;
      times.push(performance.now() - begun);
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, client) => work(client)));
  return { p95: times.sort((left, right) => left - right)[Math.floor(times.length * 0.95)] ?? 0, refused };
}

/** Fills the target until the returned function is called, which returns the number of answers by status. */
async function flood({ url, certificateAuthority }: Target, requests: readonly FloodRequest[]) {
  const answers = new Map<number, number>();
  const workerData: Flood = { url, certificateAuthority, connections, requests };
  const worker = new Worker(new URL('flood.ts', import.meta.url), { workerData });
  worker.on('message', (status: number) => answers.set(status, (answers.get(status) ?? 0) + 1));
  // A network or a person that waits in other queues than those of places gets few refusals.
  const until = performance.now() + fillMs;
  await eventually(
    () => (answers.get(429) ?? 0) >= 100 || performance.now() > until,
    (isFilled) => isFilled,
  );
  return async () => {
    await worker.terminate();
    return answers;
  };
}

const median = (values: number[]): number => values.sort((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;

async function measure(target: Target, row: Row, ms: number): Promise<string> {
  const ratios: number[] = [];
  const quietTimes: number[] = [];
  const filledTimes: number[] = [];
  let refused = 0;
  let others = '';
  for (let round = 0; round < rounds; round += 1) {
    const quiet = await behave(target);
    const mend = row.slow(ms);
    const end = await flood(target, row.requests);
    const filled = await behave(target);
    others = JSON.stringify(Object.fromEntries(await end()));
    mend();
    await eventually(
      async () => (await fetch(`${target.metricsURL}/metrics`)).text(),
      (text) => ['people', 'strangers'].every((name) => text.includes(`atrium_places{class="${name}",state="running"} 0\n`)),
    );
    refused += quiet.refused + filled.refused;
    ratios.push(filled.p95 / quiet.p95);
    quietTimes.push(quiet.p95);
    filledTimes.push(filled.p95);
  }
  const times = `p95 quiet ${median(quietTimes).toFixed(0)} ms, filled ${median(filledTimes).toFixed(0)} ms`;
  return `${times}, ratio ${median(ratios).toFixed(1)}; refused: behaving ${refused}, others ${others}`;
}

const chosen = process.argv.slice(2);
for (const start of [apiTarget, loginTarget]) {
  const target = await start();
  console.info(target.name);
  await behave(target);
  for (const ms of [2_000, 15_000])
    for (const row of target.rows) {
      if (chosen.length > 0 && !chosen.some((part) => row.name.includes(part))) continue;
      if (row.isBounded && ms > 2_000) continue;
      console.info(`${ms / 1000} s, ${row.name}: ${await measure(target, row, ms)}`);
    }
  await target.stop();
}

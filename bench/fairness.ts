/**
 * Compares the times of 20 clients that behave with those of a quiet service, while a thread fills what a request can wait for, slowed to 2
 * seconds. Each row is measured quiet, filled, and quiet again, because the machine has other work. Prints the ratio of the 95th
 * percentiles of all filled and all quiet requests, refusals, and how often slowed calls were held. Ends within five minutes, with exit
 * code 1 if a row has a ratio of 3, a refused client, or no calls held throughout, so that it measured nothing, or if the time is over
 * before all rows are measured.
 *
 * `--all` takes three turns of each row, also at 15 seconds, without a bound of time. Run: node bench/fairness.ts [--all] [ROW…]
 */
import { createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { FaultProxy, type ProxiedRequest } from '../test/cluster/faults/fault-proxy.ts';
import { aGroup, groups } from '../test/service/groups/support.ts';
import type { Browser } from '../test/service/identity/browser.ts';
import { TwoIssuers } from '../test/service/login/two-issuers.ts';
import { startPluginSuite } from '../test/service/plugins/support.ts';
import { aUser, nameOf } from '../test/service/users/a-user.ts';
import type { OwnApiServer, Person } from '../test/support/api-server.ts';
import { eventually } from '../test/support/cluster-admin.ts';
import { freePort } from '../test/support/free-port.ts';
import { grant } from '../test/support/grants.ts';
import { ScriptedDirectory } from '../test/support/scripted-directory.ts';
import type { Flood, FloodRequest } from './flood.ts';

const clients = 20;
const { values: options, positionals: chosen } = parseArgs({
  options: { all: { type: 'boolean', default: false } },
  allowPositionals: true,
});
/** In each round. */
const requestsOfClient = 15;
/** Rounds before, while and after the flood of a turn. */
const rounds = { before: 4, filled: 6, after: 2 };
const turns = options.all ? 3 : 1;
const slowTimes = options.all ? [2_000, 15_000] : [2_000];
/** More than all places of strangers. */
const connections = 300;
/** Longer than the pause of a flood, over which its first requests are spread. */
const fillMs = 5_000;
/** Bound of the wait for the end of a flood. */
const drainMs = 60_000;
/** Time of a run, below five minutes. A busy machine does not measure all rows in it. */
const runMs = 285_000;
const maxRatio = 3;
/** Least part of the looks that must find a slowed call. Between two holders of a lock, the service has work of its own. */
const minHeldPart = 0.5;
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
  /** True if the requests wait in the service itself, and their places are counted in place of slowed calls. */
  waitsInPlace?: true;
  /** True if the wait has a bound of its own, so that one run is enough. */
  isBounded?: true;
}

/** Number of calls that are slowed at present. */
let held = 0;
async function holdFor(ms: number): Promise<void> {
  held += 1;
  await sleep(ms);
  held -= 1;
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
  const [disabledChief = ''] = chiefs;
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
    const served = () => response.setHeader('content-type', 'text/plain').end('served');
    if (isSlow && slowMs > 0) void holdFor(slowMs).then(served);
    else served();
  };
  const [viewer = '', ...others] = tokens;
  const asViewer = from(networks[0] ?? '', { authorization: `Bearer ${viewer}`, 'content-type': 'application/json' });
  const slowCalls = (matches: (request: ProxiedRequest) => boolean) => (ms: number) => {
    proxy.inject(({ pass }) => void holdFor(ms).then(() => pass()), matches);
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
        // Repeats what the first request did: another administrator is left, and the Lease is taken for each request.
        requests: [
          {
            path: `/auth/v1/users/${nameOf(disabledChief)}`,
            method: 'PATCH',
            headers: { ...asViewer, 'content-type': 'application/merge-patch+json' },
            body: '{"spec":{"is_disabled":true}}',
          },
        ],
      },
      {
        name: 'one person: a future version',
        slow: () => () => undefined,
        requests: [{ path: `${users}?resourceVersion=99999999999999999999`, headers: asViewer }],
        waitsInPlace: true,
        isBounded: true,
      },
    ],
    stop: () => suite.stop(),
  };
}

/** A mail server that takes connections and says nothing, until they are ended. */
async function silentMailServer() {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    held += 1;
    sockets.add(socket.on('error', () => undefined));
    socket.once('close', () => {
      held -= 1;
      sockets.delete(socket);
    });
  });
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const endAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  return { port, endAll, stop: () => server.close(endAll) };
}

/** Waits for an issuer, for a directory and for mail. */
async function loginTarget(): Promise<Target> {
  const password = 'correct horse battery staple';
  const emails = Array.from({ length: 8 }, (_, index) => `local-${index}@example.com`);
  let holdMs = 0;
  const hold = () => (holdMs > 0 ? holdFor(holdMs) : Promise.resolve());
  const mail = await silentMailServer();
  const directory = await ScriptedDirectory.start({ entries: [], hold });
  const issuers = await TwoIssuers.start(
    {},
    {
      emails,
      password,
      trustedProxies: ['127.0.0.1'],
      smtp: { host: '127.0.0.1', port: mail.port, tls: 'none', from: 'atrium@example.com' },
      users: { lockout: { failures: 100_000 }, ldap: [{ id: 'corp', name: 'corp', url: directory.url, baseDN: 'dc=example,dc=com' }] },
    },
  );
  const { service, corp } = issuers;
  const cookieOf = (browser: Browser) => browser.cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
  const sessions: string[] = [];
  /** Returns the cookie of the session. Others have names that a flow has, too, and a cookie that comes twice is refused. */
  const sessionIn = (cookies = '') => cookies.split('; ').find((cookie) => cookie.includes('atrium_session'));
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
  const form = async (address: string, session = ''): Promise<FloodRequest> => {
    const browser = issuers.newBrowser();
    const { body } = await browser.get(`${service.url}/api/v2/token/login?token_storage=cookie&issuer=local`);
    const page = await browser.get(JSON.parse(body).auth_url);
    const [, action = ''] = /<form[^>]* action="([^"]*)"/.exec(page.body) ?? [];
    const fields = new URLSearchParams({ email: 'unknown@example.com', password: 'wrong' });
    for (const [, name = '', value = ''] of page.body.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g))
      fields.set(name, value);
    const headers = { 'content-type': 'application/x-www-form-urlencoded', cookie: `${cookieOf(browser)}; ${session}` };
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
    {
      name: `${who}: mails of forgotten passwords`,
      slow: () => mail.endAll,
      requests: emails.map((email, index) => ({
        path: '/identity/forgotten',
        method: 'POST',
        headers: from(of(addresses, index), { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' }),
        body: new URLSearchParams({ email }).toString(),
      })),
      isBounded: true,
    },
  ]);
  const logIn = async (email: string) => (await service.logIn(email, password, '?token_storage=cookie&issuer=local')).status;
  return {
    name: 'issuer, directory and mail',
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
      // The requests share one call, whose answer is good for all of them for seconds. The call lasts as long as the clients behave.
      { name: 'one person: renewals at an issuer', slow: (ms) => slow(fillMs + 3 * ms), requests: [own] },
      { name: 'one person: passwords at a directory', slow, requests: many([await form(networks[0] ?? '', sessionIn(sessions[0]))]) },
    ],
    async stop() {
      await issuers.stop();
      await directory.stop();
      mail.stop();
    },
  };
}

interface Behaviour {
  /** Times of the requests, in milliseconds. */
  times: number[];
  refused: number;
}

const p95 = (times: number[]): number => times.sort((left, right) => left - right)[Math.floor(times.length * 0.95)] ?? 0;

/** Sends the requests of the clients that behave. */
async function behave(target: Target, roundsOfClient = 1): Promise<Behaviour> {
  const times: number[] = [];
  let refused = 0;
  const work = async (client: number) => {
    for (let index = 0; index < requestsOfClient * roundsOfClient; index += 1) {
      const begun = performance.now();
      const status = await target.behave(client, index);
      if (status !== 200) refused += 1;
      times.push(performance.now() - begun);
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, client) => work(client)));
  return { times, refused };
}

/** Fills the target until the returned function is called, which returns the number of answers by status. */
async function flood({ url, certificateAuthority }: Target, requests: readonly FloodRequest[]) {
  const answers = new Map<number, number>();
  const workerData: Flood = { url, certificateAuthority, connections, requests };
  const worker = new Worker(new URL('flood.ts', import.meta.url), { workerData });
  worker.on('message', (status: number) => answers.set(status, (answers.get(status) ?? 0) + 1));
  // Each connection is open and has sent its first request: TLS handshakes are no part of the measurement.
  await sleep(fillMs);
  return async () => {
    await worker.terminate();
    return answers;
  };
}

/** Returns the number of requests of a class that are in their places. */
async function running({ metricsURL }: Target, requestClass: string): Promise<number> {
  const text = await (await fetch(`${metricsURL}/metrics`)).text();
  return Number(new RegExp(`^atrium_places\\{class="${requestClass}",state="running"\\} (\\d+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
}

/** Watches what is held while the clients behave. @returns the part of the looks that found a call */
async function behaveWatched(target: Target, { waitsInPlace }: Row): Promise<Behaviour & { heldPart: number }> {
  const looks: boolean[] = [];
  // Clients that behave have places of people, too.
  const look = async () => void looks.push(waitsInPlace ? (await running(target, 'people')) > clients : held > 0);
  const looking = setInterval(() => void look(), 100);
  const behaviour = await behave(target, rounds.filled);
  clearInterval(looking);
  return { ...behaviour, heldPart: looks.filter(Boolean).length / looks.length };
}

interface Result {
  row: string;
  quietMs: number;
  filledMs: number;
  ratio: number;
  refused: number;
  heldPart: number;
  /** Answers of the flood, by status. */
  flood: string;
}

async function measure(target: Target, row: Row, ms: number): Promise<Result> {
  const quietTimes: number[] = [];
  const filledTimes: number[] = [];
  const heldParts: number[] = [];
  let refused = 0;
  let answers: unknown;
  const behaveQuietly = async (count: number) => {
    const quiet = await behave(target, count);
    quietTimes.push(...quiet.times);
    refused += quiet.refused;
  };
  for (let turn = 0; turn < turns; turn += 1) {
    await behaveQuietly(rounds.before);
    const mend = row.slow(ms);
    const end = await flood(target, row.requests);
    const filled = await behaveWatched(target, row);
    answers = Object.fromEntries(await end());
    mend();
    const isDrained = async () =>
      (await Promise.all(['people', 'strangers'].map((name) => running(target, name)))).every((count) => count === 0);
    await eventually(isDrained, (isOver) => isOver, drainMs);
    await behaveQuietly(rounds.after);
    refused += filled.refused;
    filledTimes.push(...filled.times);
    heldParts.push(filled.heldPart);
  }
  const [quietMs, filledMs] = [p95(quietTimes), p95(filledTimes)];
  return {
    row: `${row.isBounded ? '' : `${ms / 1000} s, `}${row.name}`,
    quietMs: Math.round(quietMs),
    filledMs: Math.round(filledMs),
    ratio: Number((filledMs / quietMs).toFixed(1)),
    refused,
    heldPart: Number(Math.min(...heldParts).toFixed(2)),
    flood: JSON.stringify(answers),
  };
}

const results: (Result & { verdict: string })[] = [];
const judge = ({ ratio, refused, heldPart }: Result): string => {
  if (!(heldPart >= minHeldPart)) return 'invalid';
  return ratio < maxRatio && refused === 0 ? 'ok' : 'over';
};

/** Prints the results, and ends the process: slowed calls that nobody waits for any more would keep it for their time. */
function finish(isWhole: boolean): never {
  console.table(results);
  if (!isWhole) console.error(`the run ends after ${runMs / 1000} s, before all rows are measured: the machine is too busy`);
  process.exit(isWhole && results.length > 0 && results.every(({ verdict }) => verdict === 'ok') ? 0 : 1);
}

if (!options.all) setTimeout(finish, runMs, false);
for (const start of [apiTarget, loginTarget]) {
  const target = await start();
  await behave(target);
  for (const ms of slowTimes)
    for (const row of target.rows) {
      if (chosen.length > 0 && !chosen.some((part) => row.name.includes(part))) continue;
      if (row.isBounded && ms > 2_000) continue;
      const result = await measure(target, row, ms).catch((error: unknown) => ({
        ...{ row: row.name, quietMs: 0, filledMs: 0, ratio: Number.NaN, refused: 0, heldPart: 0 },
        flood: String(error).slice(0, 100),
      }));
      results.push({ ...result, verdict: judge(result) });
      console.info(JSON.stringify(results.at(-1)));
    }
  await target.stop();
}
finish(true);

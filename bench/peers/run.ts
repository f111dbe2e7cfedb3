/**
 * Compares the cost of a request with that of other servers, on one machine and in one run. Each server is a process of its own on
 * 127.0.0.1, wrk generates the load, and the kernel counts the CPU of the server's process.
 *
 * npm run bench:peers -- [--seconds 4] [--rounds 5] [--connections 32] [--users 10000] [--rows modules,static] [--before DIST]
 *   [--flames FOLDER] [--mixed 2000000] [--holds]
 *
 * Needs wrk, nginx and bubblewrap (`apt-get install wrk nginx-light bubblewrap`), kubectl, and Go for the control plane. `--before`
 * names a folder with another build of the service (`npm run build -- --outfile DIST/atrium.js`), which is measured in the same run.
 * `--flames` draws a flame graph of each row into that folder instead of measuring: perf itself takes time. `--mixed` sends that number
 * of requests of all rows concurrently, and prints the memory of the service. `--holds` prints for how long heavy requests block its
 * event loop.
 */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { KubeConfig } from '@kubernetes/client-node';
import { startControlPlane } from '../../test/cluster/control-plane.ts';
import { ClusterAdmin, eventually } from '../../test/support/cluster-admin.ts';
import { drawFlames } from './flames.ts';
import { heavyHolds } from './holds.ts';
import type { LoadOptions, Request } from './load.ts';
import { mixedLoad } from './mixed.ts';
import { residentMiB } from './process.ts';
import { type Contender, measureRows, type Row } from './rows.ts';
import { atrium, bareProxy, bareServer, kubectlProxy, nginx, type ServerContext, type Target } from './servers.ts';
import { type Aim, aimTable, holds, table } from './table.ts';
import { fillUsers } from './users.ts';

const { values: given } = parseArgs({
  options: {
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '32' },
    users: { type: 'string', default: '10000' },
    rows: { type: 'string' },
    before: { type: 'string' },
    flames: { type: 'string' },
    mixed: { type: 'string' },
    holds: { type: 'boolean' },
  },
});
const userCount = Number(given.users);
const dist = new URL('../../dist', import.meta.url).pathname;
const users = '/apis/auth.platform.io/v1/users';

const directory = await mkdtemp(join(tmpdir(), 'atrium-bench-'));
const files = join(directory, 'files');
await mkdir(files);
await writeFile(join(files, 'small.js'), randomBytes(5 * 1024).toString('hex'));
await writeFile(join(files, 'large.bin'), randomBytes(1024 * 1024));
await writeFile(join(files, 'index.html'), '<!doctype html><title>bench</title>');

const plane = await startControlPlane({ people: ['admin'] });
const started: Target[] = [];
let admin: ClusterAdmin | undefined;
try {
  const config = new KubeConfig();
  config.loadFromFile(plane.kubeconfig);
  const adminToken = config.getCurrentUser()?.token ?? '';
  admin = new ClusterAdmin(plane, adminToken);
  await admin.install();
  await fillUsers(admin, plane.etcdURL, 0, userCount - 1);
  const context: ServerContext = {
    directory,
    files,
    plane,
    adminToken,
    serviceToken: await admin.serviceToken(),
    isDrawn: given.flames !== undefined,
  };
  const add = async <T extends Target>(starting: Promise<T>): Promise<T> => {
    const target = await starting;
    started.push(target);
    return target;
  };
  const ours = await add(atrium('atrium', dist, context));
  const before = given.before === undefined ? undefined : await add(atrium('before', given.before, context));
  const authorization = { Authorization: `Bearer ${adminToken}` };
  for (const { url } of before ? [ours, before] : [ours]) await untilFollowed(url);
  await untilQuiet();
  const replicas = before ? { Atrium: ours, 'Atrium before': before } : { Atrium: ours };
  const rest = await Promise.all(Object.values(replicas).map(({ pid }) => residentMiB(pid)));

  const review = (prefix: string): Request => ({
    method: 'POST',
    paths: [`${prefix}/v1/selfsubjectaccessreviews`],
    headers: { ...authorization, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: { verb: 'list', group: 'auth.platform.io', resource: 'users' } },
    }),
  });
  const page = (number: number) => `/auth/v2/users?limit=20&page=${number}&filterBy=connector_id,local,username,person&sortBy=d,username`;
  const answers = {
    'modules.json': { path: '/api/v1/modules' },
    'page.json': { path: page(1), headers: authorization },
    'review.json': { path: review('/auth').paths[0], ...review('/auth') },
  };
  for (const [name, { path, ...init }] of Object.entries(answers)) {
    const answer = await fetch(`${ours.url}${path}`, init);
    if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
    await writeFile(join(files, name), await answer.text());
  }
  const node = await add(bareServer('node', context));
  const koa = await add(bareServer('koa', context));
  const undici = await add(bareProxy(context));
  const web = await add(nginx(context));
  const kubectl = await add(kubectlProxy(context));
  const kubernetes: Target = { url: plane.url, pid: plane.apiServer.pid ?? 0, async end() {} };

  const atriumDoes = (request: Request): Contender[] => [
    { name: 'Atrium', target: ours, request },
    ...(before ? [{ name: 'Atrium before', target: before, request }] : []),
  ];
  const file = (name: string): Contender[] => [
    { name: 'bare node:http', target: node, request: { paths: [`/${name}`] } },
    { name: 'bare Koa', target: koa, request: { paths: [`/${name}`] } },
  ];
  const goFile = (name: string): Contender[] => [
    { name: 'nginx', target: web, request: { paths: [`/${name}`] } },
    { name: 'kubectl proxy (Go)', target: kubectl, request: { paths: [`/static/${name}`] } },
  ];
  const native: Request = { paths: [`${users}?limit=20`], headers: authorization };
  const all: Row[] = [
    { name: 'modules', work: '`/api/v1/modules`', contenders: [...atriumDoes({ paths: ['/api/v1/modules'] }), ...file('modules.json')] },
    {
      name: 'static',
      work: 'static 10 KB',
      contenders: [...atriumDoes({ paths: ['/small.js'] }), ...file('small.js'), ...goFile('small.js')],
    },
    {
      name: 'large',
      work: 'static 1 MB',
      contenders: [...atriumDoes({ paths: ['/large.bin'] }), ...file('large.bin'), ...goFile('large.bin')],
    },
    {
      name: 'page',
      work: `page of 20 of ${userCount} users`,
      contenders: [
        ...atriumDoes({ paths: [page(1), page(2), page(3)], headers: authorization }),
        { name: 'bare Koa', target: koa, request: { paths: ['/page.json'] } },
        { name: 'kube-apiserver, unsorted', target: kubernetes, request: native },
      ],
    },
    {
      name: 'review',
      work: 'repeated access review',
      contenders: [
        ...atriumDoes(review('/auth')),
        { name: 'bare Koa', target: koa, request: { ...review(''), paths: ['/review.json'] } },
        { name: 'kube-apiserver', target: kubernetes, request: review('/apis/authorization.k8s.io') },
      ],
    },
    {
      name: 'native',
      work: 'native list of 20',
      contenders: [
        ...atriumDoes(native),
        { name: 'bare Koa with undici', target: undici, request: { paths: native.paths } },
        { name: 'kubectl proxy (Go)', target: kubectl, request: { paths: native.paths } },
        { name: 'nginx', target: web, request: { paths: native.paths } },
        { name: 'kube-apiserver, direct', target: kubernetes, request: native },
      ],
    },
    {
      name: 'proxy',
      work: 'the same through `/api/kubernetes`',
      contenders: [
        ...atriumDoes({ paths: [`/api/kubernetes${users}?limit=20`], headers: authorization }),
        { name: 'bare Koa with undici', target: undici, request: { paths: native.paths } },
        { name: 'kubectl proxy (Go)', target: kubectl, request: { paths: native.paths } },
      ],
    },
  ];
  const rows = all.filter(({ name }) => given.rows?.split(',').includes(name) ?? true);
  const options: LoadOptions = { seconds: Number(given.seconds), connections: Number(given.connections), directory };
  if (given.flames !== undefined) await drawFlames(rows, given.flames, options);
  else if (given.mixed !== undefined) await mixedLoad(rows, Number(given.mixed), options);
  else if (given.holds) await heavyHolds(heavy());
  else await compare();

  function heavy(): Contender[] {
    const sorted = (order: string) => `/auth/v2/users?limit=20&sortBy=${order}` as const;
    const get = (...paths: Request['paths']): Request => ({ paths, headers: { ...authorization, 'Accept-Encoding': 'gzip' } });
    const made = {
      apiVersion: 'auth.platform.io/v1',
      kind: 'User',
      spec: { email: 'made-TURN@example.com', password: `${randomBytes(12).toString('hex')}-Aa1` },
    };
    const requests: Record<string, Request> = {
      'a page in an order that was not asked for before': get(sorted('a,email'), sorted('d,last_login_time'), sorted('a,phase')),
      'a page of what a text is found in': get('/auth/v2/users?search=son-1&limit=20', '/auth/v2/users?search=n-2&limit=20'),
      'a page of 1,000, compressed': get('/auth/v2/users?limit=1000'),
      'a native list of all, passed on': get(users),
      'a new user, whose password is hashed': {
        method: 'POST',
        paths: ['/auth/v1/users'],
        headers: { ...authorization, 'Content-Type': 'application/json' },
        body: JSON.stringify(made),
      },
    };
    return Object.entries(requests).map(([name, request]) => ({ name, target: ours, request }));
  }

  async function compare(): Promise<void> {
    const results = await measureRows(rows, Number(given.rounds), options);
    console.log(`${versions().join('\n')}\n`);
    console.log(`${table(rows, results)}\n`);
    console.log(`${aimTable(aimsOf(rows), results)}\n`);
    console.log(`${holds(rows, results)}\n`);
    const mib = (value: number) => `${Math.round(value)} MiB`;
    for (const [index, [name, { pid }]] of Object.entries(replicas).entries()) {
      const { now, most } = await residentMiB(pid);
      console.log(
        `${name}: resident with ${userCount} users: ${mib(rest[index]?.now ?? Number.NaN)} before the load, ${mib(now)} after it, ${mib(most)} at most`,
      );
    }
  }

  async function untilFollowed(url: string): Promise<void> {
    await eventually(
      async () => (await (await fetch(`${url}/auth/v2/users?limit=1`, { headers: authorization })).json()) as { total?: number },
      ({ total }) => total === userCount,
    );
  }

  /** Waits until the controllers are idle, whose CPU would be counted as that of requests. */
  async function untilQuiet(): Promise<void> {
    const read = async () => {
      const { body } = (await admin?.call('GET', `${users}?limit=${userCount}`)) ?? {};
      return (body as { items: { metadata: { resourceVersion: string } }[] }).items.map(({ metadata }) => metadata.resourceVersion).join();
    };
    for (let seen = await read(), last = ''; seen !== last; seen = await read()) {
      last = seen;
      await sleep(3_000);
    }
  }
} finally {
  for (const target of started) await target.end();
  await admin?.close();
  await plane.stop();
  await rm(directory, { recursive: true, force: true });
}

/** Aims are ratios to the same bytes from bare Koa in the same run, because absolute times differ between machines. */
function aimsOf(rows: readonly Row[]): Aim[] {
  const aims: (Omit<Aim, 'row'> & { name: string })[] = [
    { name: 'modules', against: 'bare Koa', bound: 1.8 },
    { name: 'static', against: 'bare Koa', bound: 1.8 },
    { name: 'page', against: 'bare Koa', bound: 2.5 },
    { name: 'review', against: 'bare Koa', bound: 2.5 },
    { name: 'native', against: 'bare Koa with undici', bound: 1.2 },
    { name: 'proxy', against: 'bare Koa with undici', bound: 1.2 },
  ];
  return aims.flatMap(({ name, ...aim }) => rows.filter((row) => row.name === name).map((row) => ({ row, ...aim })));
}

function versions(): string[] {
  const of = (program: string, ...args: string[]) => {
    try {
      return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).split('\n')[0] ?? '';
    } catch {
      return 'version not told';
    }
  };
  return [
    `- ${cpus().length} x ${cpus()[0]?.model.trim()}; Node.js ${process.version}`,
    `- ${of('dpkg-query', '--show', 'wrk').replaceAll('\t', ' ')} ${of('dpkg-query', '--show', 'nginx-light').replaceAll('\t', ' ')}`,
    `- kubectl ${of('kubectl', 'version', '--client')}`,
  ];
}

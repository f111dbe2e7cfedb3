/**
 * Compares the heap of the demo before and after hostile load of all kinds, so that memory that is kept is told from memory that is not yet
 * collected. Ends by itself, with exit code 1 if the live heap still grows after the caches are full. The demo holds the service and the
 * embedded API server. Run: node bench/hostile-memory.ts [--seconds 300]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { residentMiB } from './peers/process.ts';

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '300' } } });
const seconds = Number(values.seconds);
const workers = 10;
const mebibyte = 1024 * 1024;
/** Bound of the live heap after the third part, as a multiple of that after the second one. */
const maxRatio = 1.15;

const directory = await mkdtemp(join(tmpdir(), 'atrium-hostile-'));
const info = join(directory, 'info.json');
const demo = spawn(
  process.execPath,
  ['--heapsnapshot-signal=SIGUSR2', new URL('../src/atrium.js', import.meta.url).pathname, 'sandbox', '--port', '0', '--info', info],
  { cwd: directory, stdio: 'ignore' },
);
const { pid = 0 } = demo;

let sent = 0;
const random = () => Math.random().toString(36).slice(2);

/** Returns the kinds of requests, each of which is different from all before. */
function kindsOf(url: string, token: string) {
  const bearer = { authorization: `Bearer ${token}` };
  const json = { 'content-type': 'application/json' };
  const get = (path: string, headers: Record<string, string> = {}) => fetch(`${url}${path}`, { headers });
  const post = (path: string, body: string, headers: Record<string, string>) => fetch(`${url}${path}`, { method: 'POST', body, headers });
  const review = () => JSON.stringify({ spec: { resourceAttributes: { verb: 'get', resource: 'pods', name: random() } } });
  return [
    () => get('/auth/v2/users', { authorization: `Bearer ${random()}${random()}` }),
    () => get('/auth/v2/users', { cookie: `atrium_session=${random().padEnd(43, 'x')}` }),
    () => get(`/auth/v2/users?search=${random()}&sortBy=a,email`, bearer),
    () => get(`/auth/v2/users?filterBy=email,${random()}&limit=7`, bearer),
    () => get(`/api/${random()}/${random()}`),
    () => get(`/${random()}`, { accept: 'text/html', 'x-request-id': random() }),
    () => get('/', { range: `bytes=${sent % 100}-`, traceparent: `00-${random().padEnd(32, '0')}-${random().padEnd(16, '0')}-01` }),
    () => post('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', review(), { ...json, ...bearer }),
    () => post('/auth/v1/users', `{"spec":{"email":"${random()}`, { ...json, ...bearer }),
    () => post('/auth/v1/users', '['.repeat(200_000), json),
    () => get(`/api/kubernetes/api/v1/namespaces/${random()}/pods`, bearer),
    () => get(`/api/kubernetes/apis/${random()}`, bearer),
    () => get(`/api/v2/token/login?token_storage=cookie&redirect_uri=${random()}`),
    () => get(`/identity/auth?client_id=${random()}`),
    () => post('/identity/forgotten', `email=${random()}@example.com`, { 'content-type': 'application/x-www-form-urlencoded' }),
    () => get(`/api/v1/token/redirect?code=${random()}&state=${random()}`),
    () => get(`/auth/v2/users?labelSelector=${'a,'.repeat(50)}${random()}`, bearer),
    () =>
      fetch(`${url}/auth/v2/users?watch=true`, { headers: { ...bearer, accept: 'text/event-stream' }, signal: AbortSignal.timeout(200) }),
  ];
}

async function load(kinds: ReturnType<typeof kindsOf>, forSeconds: number): Promise<void> {
  const end = performance.now() + forSeconds * 1000;
  const work = async () => {
    while (performance.now() < end) {
      const kind = kinds[sent % kinds.length];
      sent += 1;
      // A request may be refused or cut: only what the service keeps is of interest.
      await kind?.()
        .then((response) => response.arrayBuffer())
        .catch(() => undefined);
    }
  };
  await Promise.all(Array.from({ length: workers }, work));
}

/** Sizes of live objects by type and constructor. Node.js collects garbage before it writes a snapshot. */
async function liveBytes(): Promise<Map<string, number>> {
  const known = new Set(await readdir(directory));
  demo.kill('SIGUSR2');
  let file: string | undefined;
  while (file === undefined) {
    await sleep(500);
    file = (await readdir(directory)).find((name) => name.endsWith('.heapsnapshot') && !known.has(name));
  }
  // The event loop of the demo stands still until the file is complete, and kept connections end meanwhile.
  const answers = () =>
    fetch(`${url}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await answers())) await sleep(500);
  const path = join(directory, file);
  const { snapshot, nodes, strings } = JSON.parse(await readFile(path, 'utf8')) as {
    snapshot: { meta: { node_fields: string[]; node_types: [string[], ...unknown[]] } };
    nodes: number[];
    strings: string[];
  };
  await rm(path);
  const { node_fields: fields, node_types: types } = snapshot.meta;
  const [type, name, size] = ['type', 'name', 'self_size'].map((field) => fields.indexOf(field)) as [number, number, number];
  const sizes = new Map<string, number>();
  for (let at = 0; at < nodes.length; at += fields.length) {
    const kind = types[0][nodes[at + type] ?? 0] ?? '';
    const key = ['object', 'closure', 'native'].includes(kind) ? `${kind} ${strings[nodes[at + name] ?? 0]?.slice(0, 40)}` : kind;
    sizes.set(key, (sizes.get(key) ?? 0) + (nodes[at + size] ?? 0));
  }
  return sizes;
}

const total = (sizes: Map<string, number>) => [...sizes.values()].reduce((sum, size) => sum + size, 0) / mebibyte;

while (!existsSync(info)) {
  if (demo.exitCode !== null) throw new Error(`the demo ended with ${demo.exitCode}; run npm run web first`);
  await sleep(200);
}
const { url, people } = JSON.parse(await readFile(info, 'utf8')) as { url: string; people: { role: string; token: string }[] };
const token = people.find(({ role }) => role === 'admin')?.token ?? '';
try {
  const kinds = kindsOf(url, token);
  const looks: Map<string, number>[] = [];
  // Caches are bounded by the number or age of their entries: the first part fills them.
  for (const part of [seconds / 10, seconds * 0.45, seconds * 0.45]) {
    await load(kinds, part);
    const { now, most } = await residentMiB(pid);
    looks.push(await liveBytes());
    const live = total(looks.at(-1) ?? new Map());
    console.info(`${sent} requests: ${now.toFixed(0)} MiB resident (most ${most.toFixed(0)}), ${live.toFixed(1)} MiB live in the heap`);
  }
  await sleep(70_000);
  looks.push(await liveBytes());
  console.info(
    `after 70 s of rest: ${(await residentMiB(pid)).now.toFixed(0)} MiB resident, ${total(looks[3] ?? new Map()).toFixed(1)} MiB live`,
  );
  const [first = new Map(), second = new Map(), third = new Map(), rested = new Map()] = looks;
  const grown = [...third].map(([key, size]) => ({
    key,
    grownKiB: Math.round((size - (first.get(key) ?? 0)) / 1024),
    restedKiB: Math.round(((rested.get(key) ?? 0) - (first.get(key) ?? 0)) / 1024),
  }));
  console.table(grown.sort((left, right) => right.grownKiB - left.grownKiB).slice(0, 20));
  const ratio = total(third) / total(second);
  console.info(`live heap of the third part: ${ratio.toFixed(2)} times that of the second, at most ${maxRatio}`);
  if (!(ratio <= maxRatio)) process.exitCode = 1;
} finally {
  demo.kill('SIGTERM');
  if (demo.exitCode === null) await once(demo, 'exit');
  await rm(directory, { recursive: true, force: true });
}

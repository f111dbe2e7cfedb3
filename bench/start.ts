/**
 * Measures the image at rest: its size, the time from the start of the process until /readyz answers 200, and the resident memory
 * afterwards, while no request arrives. Podman builds the image, whose files run as in a pod.
 *
 * The API server is the embedded cluster in this process: warm, and without users. Needs root, podman and bubblewrap. Run: node bench/start.ts
 */
import { chmod, lstat, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { apiServer } from '../test/support/api-server.ts';
import { ClusterAdmin } from '../test/support/cluster-admin.ts';
import { freePort } from '../test/support/free-port.ts';
import { Engine } from '../test/tools/image/engine.ts';
import { addedPaths, buildImage, extractImage } from '../test/tools/image/image.ts';
import { writeServiceAccount } from '../test/tools/image/service-account.ts';
import { Container } from './container.ts';

const starts = 7;
/** Milliseconds in which V8 collects the garbage of the start: half a minute is enough. */
const restMs = 60_000;

const directory = await mkdtemp(join(tmpdir(), 'atrium-start-'));
await chmod(directory, 0o755);
const engine = await Engine.start(directory);
const configuration = await buildImage(engine, directory);
const added = await addedPaths(engine);
const image = await extractImage(engine, configuration, join(directory, 'root'));
await engine.stop();
const cluster = await apiServer();
const kubernetes = new ClusterAdmin(cluster, await cluster.token('admin'));
await kubernetes.install();
const account = join(directory, 'account');
await writeServiceAccount(account, cluster, await kubernetes.serviceToken());

const { hostname, port: apiPort } = new URL(cluster.url);
const port = await freePort();
const environment = {
  KUBERNETES_SERVICE_HOST: hostname,
  KUBERNETES_SERVICE_PORT: apiPort,
  ATRIUM_SERVER__HOST: '127.0.0.1',
  ATRIUM_SERVER__PORT: `${port}`,
  ATRIUM_SERVER__METRICSPORT: `${await freePort()}`,
  ATRIUM_SERVER__PUBLICURL: `http://127.0.0.1:${port}`,
};
const start = () => new Container(image, { environment, mounts: { '/var/run/secrets/kubernetes.io/serviceaccount': account } });

async function untilReady(): Promise<void> {
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
    await answer?.arrayBuffer();
    if (answer?.status === 200) return;
    await sleep(5);
  }
}

const milliseconds: number[] = [];
const resident: number[] = [];
for (let count = 0; count < starts; count += 1) {
  const begun = performance.now();
  const container = start();
  await untilReady();
  milliseconds.push(performance.now() - begun);
  // The last start shows the memory at rest.
  if (count === starts - 1) await sleep(restMs);
  resident.push(Number.parseInt(await container.status('VmRSS'), 10) / 1024);
  await container.end();
}

const sizes = await Promise.all(added.map((path) => lstat(join(image.root, path))));
const size = (prefix: string) =>
  sizes.reduce((sum, file, index) => sum + (file.isFile() && added[index]?.startsWith(prefix) ? file.size : 0), 0) / 2 ** 20;
const middle = milliseconds.toSorted((a, b) => a - b)[Math.floor(starts / 2)] ?? Number.NaN;
console.log(`added to the base       ${size('/').toFixed(1).padStart(7)} MB, ${size('/usr/').toFixed(1)} of them the runtime`);
console.log(
  `start to ready          ${middle.toFixed(0).padStart(7)} ms, the fastest of ${starts} ${Math.min(...milliseconds).toFixed(0)} ms`,
);
console.log(`resident after ${restMs / 1000} s     ${resident.at(-1)?.toFixed(0).padStart(7)} MB`);

await kubernetes.close();
await cluster.stop();
await rm(directory, { recursive: true });

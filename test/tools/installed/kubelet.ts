import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { CoreV1Api, KubeConfig, type V1Pod } from '@kubernetes/client-node';
import type { Image } from './image.ts';
import type { LoopbackNetwork } from './loopback-network.ts';
import { RunningPod } from './pod.ts';

const run = promisify(execFile);
const pollMs = 200;
const refreshMs = 60_000;

export interface KubeletOptions {
  /** Path of a kubeconfig whose current context has all rights. */
  kubeconfig: string;
  network: LoopbackNetwork;
  /** Returns the image of a reference, or undefined if it cannot be pulled. */
  images: (reference: string) => Image | undefined;
  /** Addresses by host names that Pods can resolve, in place of the cluster's DNS. */
  hosts?: Readonly<Record<string, string>>;
  /** Returns the variables of the containers of a Pod by its address. */
  environment?: (address: string) => Record<string, string>;
}

/**
 * A node on this machine: takes every Pod without a node, runs its containers as processes, probes them, reports their status to the API
 * server, and stops them gracefully when they are deleted. Pods share the network of the machine. Each gets a loopback address as its Pod
 * IP, and its servers must listen on that address (`environment`).
 *
 * Needs root, for the users of the containers, and bubblewrap.
 */
export class Kubelet {
  readonly #core: CoreV1Api;
  readonly #options: KubeletOptions;
  readonly #nodeName = `node-${process.pid}`;
  readonly #apiServer: URL;
  readonly #pods = new Map<string, RunningPod>();
  readonly #ending = new AbortController();
  readonly #tasks = new Set<Promise<void>>();
  #directory = '';
  #loops: Promise<unknown> = Promise.resolve();

  constructor(options: KubeletOptions) {
    const config = new KubeConfig();
    config.loadFromFile(options.kubeconfig);
    this.#core = config.makeApiClient(CoreV1Api);
    this.#apiServer = new URL(config.getCurrentCluster()?.server ?? '');
    this.#options = options;
  }

  /** @throws Error if this machine lacks what it needs */
  async start(): Promise<void> {
    if (process.getuid?.() !== 0) throw new Error('the kubelet of the tests starts containers as other users: run it as root');
    await run('bwrap', ['--version']).catch((cause: unknown) => {
      throw new Error('the kubelet of the tests starts containers by bubblewrap: apt-get install bubblewrap', { cause });
    });
    this.#directory = await mkdtemp(join(tmpdir(), 'atrium-kubelet-'));
    await chmod(this.#directory, 0o755);
    this.#loops = Promise.all([this.#repeat(pollMs, () => this.#look()), this.#repeat(refreshMs, () => this.refreshVolumes())]);
  }

  /** Pods that run here, or have ended and still exist at the API server. */
  get pods(): RunningPod[] {
    return [...this.#pods.values()];
  }

  /** Issues new tokens and reads ConfigMaps and Secrets again, at once instead of within a minute. */
  async refreshVolumes(): Promise<void> {
    // Like a kubelet, keeps the files of objects that no longer exist.
    await Promise.all(this.pods.map((pod) => pod.volumes.write().catch(() => undefined)));
  }

  /** Kills all containers and deletes their files, without a report to the API server. */
  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#loops;
    await Promise.all(this.pods.map((pod) => pod.kill()));
    await Promise.all(this.#tasks);
    await rm(this.#directory, { recursive: true, force: true });
  }

  /** Repeats work, also after failures: the API server may be unavailable. */
  async #repeat(everyMs: number, work: () => Promise<void>): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted) {
      await work().catch(() => undefined);
      await setTimeout(everyMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async #look(): Promise<void> {
    const { items } = await this.#core.listPodForAllNamespaces();
    for (const pod of items) {
      const { uid = '', deletionTimestamp, deletionGracePeriodSeconds = 0 } = pod.metadata ?? {};
      const running = this.#pods.get(uid);
      if (!running && (pod.spec?.nodeName ?? this.#nodeName) === this.#nodeName) await this.#take(pod).catch(() => undefined);
      else if (running && deletionTimestamp) this.#background(running.leave(deletionGracePeriodSeconds));
      else await running?.report();
    }
    const known = new Set(items.map(({ metadata }) => metadata?.uid));
    for (const [uid, pod] of this.#pods) {
      if (known.has(uid)) continue;
      this.#pods.delete(uid);
      this.#background(pod.kill());
    }
  }

  async #take(pod: V1Pod): Promise<void> {
    const { name = '', namespace = '', uid = '' } = pod.metadata ?? {};
    const body = { metadata: { name, uid }, target: { apiVersion: 'v1', kind: 'Node', name: this.#nodeName } };
    if (!pod.spec?.nodeName) await this.#core.createNamespacedPodBinding({ namespace, name, body });
    const { network, images, hosts = {}, environment } = this.#options;
    const address = network.address();
    const directory = join(this.#directory, uid);
    await mkdir(directory, { recursive: true, mode: 0o755 });
    const running = new RunningPod({
      core: this.#core,
      pod: placed(pod, this.#nodeName, address),
      images,
      hosts,
      environment: {
        KUBERNETES_SERVICE_HOST: this.#apiServer.hostname,
        KUBERNETES_SERVICE_PORT: this.#apiServer.port,
        ...environment?.(address),
      },
      directory,
      whenUnrouted: async () => void (await Promise.all([...network.routers].map((router) => router.look()))),
    });
    this.#pods.set(uid, running);
    this.#background(running.start());
  }

  /** Runs work beside the loop; `stop` waits for it. */
  #background(work: Promise<void>): void {
    const settled = work.catch(() => undefined).finally(() => this.#tasks.delete(settled));
    this.#tasks.add(settled);
  }
}

function placed(pod: V1Pod, nodeName: string, podIP: string): V1Pod {
  return { ...pod, spec: { containers: [], ...pod.spec, nodeName }, status: { ...pod.status, podIP } };
}

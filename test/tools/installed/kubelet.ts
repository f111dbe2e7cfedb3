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
  /** Path; its current context may do everything. */
  kubeconfig: string;
  network: LoopbackNetwork;
  /** What an image reference stands for; undefined: it cannot be pulled. */
  images: (reference: string) => Image | undefined;
  /** Names that Pods can resolve beside their own, to addresses: what the cluster's DNS would answer. */
  hosts?: Readonly<Record<string, string>>;
  /** Variables that every container gets, told its Pod's address. */
  environment?: (address: string) => Record<string, string>;
}

/**
 * A node of one machine: takes every Pod that has none, runs its containers as processes, probes them, tells the API server how they
 * stand, and stops them in order when they are deleted. Pods share the network of the machine, so each gets a loopback address of its
 * own as its Pod IP, and what it listens on must be told to listen there (`environment`).
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

  /** Those that run here, or have run and are still in the API server. */
  get pods(): RunningPod[] {
    return [...this.#pods.values()];
  }

  /** Makes new tokens and reads ConfigMaps and Secrets again, now instead of within a minute. */
  async refreshVolumes(): Promise<void> {
    // What is not there any more stays as it was, as with a kubelet.
    await Promise.all(this.pods.map((pod) => pod.volumes.write().catch(() => undefined)));
  }

  /** Kills what runs and leaves no file behind; the API server is not told. */
  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#loops;
    await Promise.all(this.pods.map((pod) => pod.kill()));
    await Promise.all(this.#tasks);
    await rm(this.#directory, { recursive: true, force: true });
  }

  /** Whatever fails is tried again: the API server may be away. */
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

  /** Something that goes on beside the loop, and is waited for at the end. */
  #background(work: Promise<void>): void {
    const settled = work.catch(() => undefined).finally(() => this.#tasks.delete(settled));
    this.#tasks.add(settled);
  }
}

function placed(pod: V1Pod, nodeName: string, podIP: string): V1Pod {
  return { ...pod, spec: { containers: [], ...pod.spec, nodeName }, status: { ...pod.status, podIP } };
}

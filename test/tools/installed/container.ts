import { setTimeout } from 'node:timers/promises';
import type { CoreV1Api, V1Container, V1ContainerState, V1ContainerStatus, V1Pod } from '@kubernetes/client-node';
import { environmentOf, expand } from './downward.ts';
import type { Image } from './image.ts';
import { runProbes } from './probes.ts';
import { ContainerProcess } from './process.ts';
import type { Mount, PodVolumes } from './volumes.ts';

/** Delay before a restart. A kubelet backs off for ten seconds or more, which tests do not need. */
const restartDelayMs = 1_000;

export interface ContainerOptions {
  core: CoreV1Api;
  /** The Pod with its address and node. */
  pod: V1Pod;
  container: V1Container;
  images: (reference: string) => Image | undefined;
  volumes: PodVolumes;
  /** Variables of the cluster that every container gets. */
  environment: Readonly<Record<string, string>>;
  mounts: readonly Mount[];
  onChange: () => void;
  /** Resolves when the routers send no connections to terminating Pods. */
  whenUnrouted: () => Promise<void>;
}

/** A container of a Pod: its consecutive runs and its status. */
export class Container {
  readonly #options: ContainerOptions;
  #process: ContainerProcess | undefined;
  #state: V1ContainerState = { waiting: { reason: 'ContainerCreating' } };
  #isReady = false;
  #hasStarted = false;
  #isStopping = false;
  #restarts = 0;
  #log = '';

  constructor(options: ContainerOptions) {
    this.#options = options;
  }

  get status(): V1ContainerStatus {
    const { name, image = '' } = this.#options.container;
    return {
      name,
      image,
      imageID: image,
      ready: this.#isReady,
      started: this.#hasStarted,
      restartCount: this.#restarts,
      state: this.#state,
    };
  }

  /** Output of all runs. */
  get log(): string {
    return this.#log;
  }

  /** Runs the container. Resolves when it has ended and the restart policy does not restart it. */
  async run(): Promise<void> {
    while (!this.#isStopping) {
      const exitCode = await this.#runOnce();
      const { restartPolicy } = this.#options.pod.spec ?? {};
      if (exitCode !== undefined && (restartPolicy === 'Never' || (restartPolicy === 'OnFailure' && exitCode === 0))) return;
      if (this.#isStopping) return;
      await setTimeout(restartDelayMs);
      if (exitCode !== undefined) this.#restarts += 1;
    }
  }

  /** Stops the container without a restart: preStop, SIGTERM, and SIGKILL after the grace period. */
  async stop(graceSeconds: number): Promise<void> {
    this.#isStopping = true;
    const process = this.#process;
    if (!process) return;
    const timer = AbortSignal.timeout(graceSeconds * 1000);
    timer.addEventListener('abort', () => process.signal('SIGKILL'));
    const { preStop } = this.#options.container.lifecycle ?? {};
    if (preStop && !preStop.sleep) throw new Error('this kubelet has only preStop by sleep');
    if (preStop?.sleep) await Promise.race([this.#sleep(preStop.sleep.seconds), process.exited]);
    await process.signal('SIGTERM');
    await process.exited;
  }

  /** Sleeps for preStop, and until the routers have noticed, which may take longer than that on a busy machine. */
  async #sleep(seconds: number): Promise<void> {
    await Promise.all([setTimeout(seconds * 1000), this.#options.whenUnrouted()]);
  }

  async crash(): Promise<void> {
    await this.#process?.signal('SIGKILL');
  }

  /** Runs the container once. @returns the exit code, or undefined if it could not be started */
  async #runOnce(): Promise<number | undefined> {
    try {
      this.#process = await this.#start();
      // The container may have been stopped while its environment was read.
      if (this.#isStopping) void this.#process.signal('SIGKILL');
    } catch (error) {
      this.#change({ waiting: { reason: 'CreateContainerConfigError', message: error instanceof Error ? error.message : String(error) } });
      return undefined;
    }
    const startedAt = new Date();
    this.#change({ running: { startedAt } });
    const probing = new AbortController();
    const probes = this.#probe(this.#process, probing.signal);
    const exitCode = await this.#process.exited;
    probing.abort();
    await probes;
    this.#process = undefined;
    this.#isReady = false;
    this.#hasStarted = false;
    this.#change({ terminated: { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', startedAt, finishedAt: new Date() } });
    return exitCode;
  }

  async #start(): Promise<ContainerProcess> {
    const { core, pod, container, images, volumes, environment, mounts } = this.#options;
    const image = images(container.image ?? '');
    if (!image) throw new Error(`there is no image ${container.image}`);
    const variables = { ...environment, ...(await environmentOf(core, pod, container)) };
    const args = container.args ?? (container.command ? [] : image.args);
    const command = [...(container.command ?? image.entrypoint), ...args].map((text) => expand(text, variables));
    return new ContainerProcess({
      pod,
      container,
      image,
      command,
      environment: variables,
      mounts: [...mounts, ...volumes.mounts(container.volumeMounts ?? [])],
      onOutput: (text) => {
        this.#log += text;
      },
    });
  }

  #probe(process: ContainerProcess, signal: AbortSignal): Promise<void> {
    const { pod, container, onChange } = this.#options;
    const events = {
      onStarted: () => {
        this.#hasStarted = true;
        onChange();
      },
      onReady: (isReady: boolean) => {
        this.#isReady = isReady;
        onChange();
      },
      onDead: (why: string) => {
        if (this.#isStopping) return;
        this.#log += `${why}\n`;
        const timer = AbortSignal.timeout((pod.spec?.terminationGracePeriodSeconds ?? 30) * 1000);
        timer.addEventListener('abort', () => process.signal('SIGKILL'));
        void process.signal('SIGTERM');
      },
    };
    return runProbes(container, pod.status?.podIP ?? '', events, signal);
  }

  #change(state: V1ContainerState): void {
    this.#state = state;
    this.#options.onChange();
  }
}

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import {
  type CoreV1Api,
  PatchStrategy,
  setHeaderOptions,
  type V1Pod,
  type V1PodCondition,
  type V1PodStatus,
} from '@kubernetes/client-node';
import { Container, type ContainerOptions } from './container.ts';
import type { Image } from './image.ts';
import { PodVolumes } from './volumes.ts';

export interface PodOptions {
  core: CoreV1Api;
  /** The Pod with its address and node. */
  pod: V1Pod;
  images: (reference: string) => Image | undefined;
  environment: Readonly<Record<string, string>>;
  /** Addresses by host names that the containers can resolve. */
  hosts: Readonly<Record<string, string>>;
  /** Directory for the files of the Pod; all users must be able to enter it. */
  directory: string;
  whenUnrouted: ContainerOptions['whenUnrouted'];
}

const retryMs = 500;
const mergePatch = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);

/** A Pod on this machine, from its volumes to its removal from the API server. */
export class RunningPod {
  readonly name: string;
  readonly namespace: string;
  readonly address: string;
  readonly volumes: PodVolumes;
  readonly #options: PodOptions;
  readonly #uid: string;
  readonly #startTime = new Date();
  #containers: Container[] = [];
  #problem: string | undefined;
  #ended = Promise.withResolvers<void>();
  #hasEnded = false;
  #isLeaving = false;
  #isToEnd = false;
  #isReported = true;
  #reporting: Promise<void> = Promise.resolve();
  #readySince: { isReady: boolean; since: Date } = { isReady: false, since: new Date() };

  constructor(options: PodOptions) {
    const { name = '', namespace = '', uid = '' } = options.pod.metadata ?? {};
    this.name = name;
    this.namespace = namespace;
    this.address = options.pod.status?.podIP ?? '';
    this.#uid = uid;
    this.#options = options;
    this.volumes = new PodVolumes({ core: options.core, pod: options.pod, directory: join(options.directory, 'volumes') });
  }

  /** True if all containers have ended without a restart, such as those of a Job. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Output of the containers. */
  get log(): string {
    return this.#containers.map(({ log }) => log).join('');
  }

  /** Starts the Pod once its volumes exist, and reports missing ones in its status. Resolves when it runs or is being deleted. */
  async start(): Promise<void> {
    while (!this.#isToEnd) {
      try {
        await this.#prepare();
        this.#problem = undefined;
        break;
      } catch (error) {
        this.#problem = error instanceof Error ? error.message : String(error);
        this.#changed();
        await setTimeout(retryMs);
      }
    }
    // The Pod may have been deleted in the meantime.
    if (this.#isToEnd) return this.#end();
    void Promise.all(this.#containers.map((container) => container.run())).then(() => this.#end());
    this.#changed();
  }

  /** Stops the containers within the grace period and removes the Pod from the API server. */
  async leave(graceSeconds: number): Promise<void> {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    this.#isToEnd = true;
    if (!this.#hasEnded) {
      await Promise.all(this.#containers.map((container) => container.stop(graceSeconds)));
      await this.#ended.promise;
    }
    await this.report();
    const { core } = this.#options;
    const body = { gracePeriodSeconds: 0, preconditions: { uid: this.#uid } };
    await core.deleteNamespacedPod({ namespace: this.namespace, name: this.name, body }).catch(() => {
      // The Pod is already gone, or the removal is retried while the API server still lists it.
      this.#isLeaving = false;
    });
  }

  /** Kills the containers at once, without a report to the API server. */
  async kill(): Promise<void> {
    this.#isToEnd = true;
    await Promise.all(this.#containers.map((container) => container.stop(0)));
  }

  /** Kills the containers in the middle of their work, like a machine that runs out of memory. */
  async crash(): Promise<void> {
    await Promise.all(this.#containers.map((container) => container.crash()));
  }

  /** Reports a changed status to the API server. Reports are sent one after the other, so that the last one stays. */
  report(): Promise<void> {
    this.#reporting = this.#reporting.then(() => this.#patchStatus());
    return this.#reporting;
  }

  async #patchStatus(): Promise<void> {
    if (this.#isReported) return;
    this.#isReported = true;
    try {
      const target = { namespace: this.namespace, name: this.name };
      await this.#options.core.patchNamespacedPodStatus({ ...target, body: { status: this.#status() } }, mergePatch);
    } catch {
      this.#isReported = false;
    }
  }

  async #prepare(): Promise<void> {
    const { pod, core, images, environment, hosts, directory, whenUnrouted } = this.#options;
    if (pod.spec?.initContainers?.length) throw new Error('this kubelet has no init containers');
    await mkdir(join(directory, 'volumes'), { recursive: true, mode: 0o755 });
    const hostsFile = join(directory, 'hosts');
    const names = Object.entries({ localhost: '127.0.0.1', [this.name]: this.address, ...hosts });
    await writeFile(hostsFile, names.map(([host, address]) => `${address} ${host}\n`).join(''), { mode: 0o644 });
    await this.volumes.write();
    const mounts = [{ source: hostsFile, path: '/etc/hosts', isReadOnly: true }];
    const onChange = () => this.#changed();
    this.#containers = (pod.spec?.containers ?? []).map(
      (container) => new Container({ core, pod, container, images, volumes: this.volumes, environment, mounts, onChange, whenUnrouted }),
    );
  }

  #end(): void {
    this.#hasEnded = true;
    this.#ended.resolve();
    this.#changed();
  }

  #changed(): void {
    this.#isReported = false;
    void this.report();
  }

  #status(): V1PodStatus {
    const containerStatuses = this.#containers.map(({ status }) => status);
    const isReady = containerStatuses.length > 0 && containerStatuses.every(({ ready }) => ready);
    if (isReady !== this.#readySince.isReady) this.#readySince = { isReady, since: new Date() };
    const condition = (type: string, isTrue: boolean, lastTransitionTime = this.#startTime): V1PodCondition => ({
      type,
      status: isTrue ? 'True' : 'False',
      lastTransitionTime,
    });
    return {
      phase: this.#phase(),
      ...(this.#problem !== undefined && { reason: 'ContainerCreating', message: this.#problem }),
      startTime: this.#startTime,
      hostIP: '127.0.0.1',
      podIP: this.address,
      podIPs: [{ ip: this.address }],
      containerStatuses,
      conditions: [
        condition('PodScheduled', true),
        condition('Initialized', true),
        condition('ContainersReady', isReady, this.#readySince.since),
        condition('Ready', isReady, this.#readySince.since),
      ],
    };
  }

  #phase(): string {
    const states = this.#containers.map(({ status }) => status.state);
    if (this.#hasEnded) return states.every((state) => state?.terminated?.exitCode === 0) ? 'Succeeded' : 'Failed';
    return states.some((state) => state?.running || state?.terminated) ? 'Running' : 'Pending';
  }
}

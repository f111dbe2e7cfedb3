import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { CoreV1Api, KubeConfig, type V1Pod, type V1ServicePort } from '@kubernetes/client-node';
import { OpenSockets } from '../../support/open-sockets.ts';
import type { LoopbackNetwork } from './loopback-network.ts';

/** How long after a change it may still send connections to where they went before, as each kube-proxy does. */
const pollMs = 500;

export interface ServiceProxyOptions {
  /** Path; its current context may read Services and Pods. */
  kubeconfig: string;
  namespace: string;
  /** Name of the Service; it need not be there yet. */
  service: string;
  network: LoopbackNetwork;
  /** Of the network, where it listens on the Service's ports. */
  address: string;
}

/**
 * One Service as kube-proxy makes it: each TCP connection goes to the next Pod that is ready and not about to go. Learns of a change
 * within half a second. With no such Pod a connection is refused by closing it.
 */
export class ServiceProxy {
  readonly #options: ServiceProxyOptions;
  readonly #core: CoreV1Api;
  readonly #ending = new AbortController();
  readonly #servers = new Map<number, Server>();
  readonly #sockets = new OpenSockets();
  #pods: V1Pod[] = [];
  #ports: V1ServicePort[] = [];
  #turn = 0;
  #loop: Promise<void> = Promise.resolve();
  #looking: Promise<void> = Promise.resolve();

  constructor(options: ServiceProxyOptions) {
    const config = new KubeConfig();
    config.loadFromFile(options.kubeconfig);
    this.#core = config.makeApiClient(CoreV1Api);
    this.#options = options;
  }

  start(): void {
    this.#options.network.routers.add(this);
    this.#loop = this.#repeat();
  }

  async stop(): Promise<void> {
    this.#options.network.routers.delete(this);
    this.#ending.abort();
    await this.#loop;
    const closed = [...this.#servers.values()].map((server) => once(server.close(), 'close'));
    this.#sockets.destroy();
    await Promise.all(closed);
  }

  /** Addresses of the Pods that take connections now. */
  get endpoints(): string[] {
    return this.#pods.map(({ status }) => status?.podIP ?? '');
  }

  async #repeat(): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted) {
      await this.look();
      await setTimeout(pollMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** One look after the other, so that the last one counts. */
  look(): Promise<void> {
    // As kube-proxy without an API server: what was known stays.
    this.#looking = this.#looking.then(() => this.#look()).catch(() => undefined);
    return this.#looking;
  }

  async #look(): Promise<void> {
    const { namespace, service } = this.#options;
    const services = await this.#core.listNamespacedService({ namespace, fieldSelector: `metadata.name=${service}` });
    const { selector = {}, ports = [] } = services.items[0]?.spec ?? {};
    const labelSelector = Object.entries(selector)
      .map(([label, value]) => `${label}=${value}`)
      .join(',');
    const { items } = await this.#core.listNamespacedPod({ namespace, labelSelector });
    this.#pods = items.filter(takesConnections);
    this.#ports = ports;
    for (const { port } of ports) if (!this.#servers.has(port)) await this.#listen(port);
  }

  async #listen(port: number): Promise<void> {
    const server = createServer({ allowHalfOpen: true }, (client) => this.#forward(client, port));
    server.listen(port, this.#options.address);
    await once(server, 'listening');
    this.#servers.set(port, server);
  }

  #forward(client: Socket, port: number): void {
    this.#sockets.track(client);
    this.#turn += 1;
    const pod = this.#pods[this.#turn % this.#pods.length];
    const target = pod && targetPort(pod, this.#ports, port);
    if (target === undefined) {
      client.destroy();
      return;
    }
    const upstream = connect({ host: pod?.status?.podIP ?? '', port: target, allowHalfOpen: true });
    this.#sockets.track(upstream);
    client.pipe(upstream).pipe(client);
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
  }
}

function takesConnections({ metadata, status }: V1Pod): boolean {
  return (
    !metadata?.deletionTimestamp &&
    status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') === true
  );
}

/** The Pod's own port of that Service port; a name is looked up in the Pod. */
function targetPort(pod: V1Pod, ports: readonly V1ServicePort[], port: number): number | undefined {
  const target = ports.find((candidate) => candidate.port === port)?.targetPort ?? port;
  if (typeof target === 'number') return target;
  return pod.spec?.containers.flatMap(({ ports: own = [] }) => own).find(({ name }) => name === target)?.containerPort;
}

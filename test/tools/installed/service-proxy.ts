import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { CoreV1Api, KubeConfig, type V1Pod, type V1ServicePort } from '@kubernetes/client-node';
import { OpenSockets } from '../../support/open-sockets.ts';
import type { LoopbackNetwork } from './loopback-network.ts';

/** Polling interval. Like kube-proxy, the proxy may send connections to the previous Pods for that long. */
const pollMs = 500;

export interface ServiceProxyOptions {
  /** Path of a kubeconfig whose current context may read Services and Pods. */
  kubeconfig: string;
  namespace: string;
  /** Name of the Service, which need not exist yet. */
  service: string;
  network: LoopbackNetwork;
  /** Address of the network that the proxy listens on, at the Service's ports. */
  address: string;
}

/**
 * Balances connections to one Service like kube-proxy: each TCP connection goes to the next Pod that is ready and not terminating.
 * Notices changes within half a second. Closes connections if no such Pod exists.
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

  /** Addresses of the Pods that receive connections. */
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

  /** Reads the Pods. Reads run one after the other, so that the last result stays. */
  look(): Promise<void> {
    // Like kube-proxy, keeps the known Pods while the API server is unavailable.
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

/** Returns the Pod's port for a Service port. A named port is resolved in the Pod. */
function targetPort(pod: V1Pod, ports: readonly V1ServicePort[], port: number): number | undefined {
  const target = ports.find((candidate) => candidate.port === port)?.targetPort ?? port;
  if (typeof target === 'number') return target;
  return pod.spec?.containers.flatMap(({ ports: own = [] }) => own).find(({ name }) => name === target)?.containerPort;
}

import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { request as ask } from 'undici';
import { OpenSockets } from './open-sockets.ts';

const pollMs = 1_000;
/** Milliseconds for which a probe is valid. The process may have been suspended for longer, and a backend may have stopped meanwhile. */
const knownMs = 2_000;
/** Timeout of idle connections, far below that of the backends: a backend that stops could close one while a request is on its way. */
const idleMs = 1_000;
/** Number of successive probes without an answer after which a backend counts as stopped; a kubelet is no quicker. */
const failureThreshold = 15;

type Held = 'request' | 'answer';

/** A replica, on 127.0.0.1. */
export interface Backend {
  port: number;
  /** URL of the readiness probe. */
  readyURL: string;
}

/**
 * A load balancer of the tests. The balancer probes `/readyz` of each backend once a second and sends new work, in turn, to backends whose
 * last probe was answered with 200. A backend that does not answer for 15 s is removed too. Like every client in a cluster, the balancer
 * learns of a change up to a second late. Requests are never retried: work that a backend loses is lost.
 *
 * - of connections, as kube-proxy: a connection stays at its backend to its end, also if `/readyz` changes meanwhile;
 * - of requests, as an ingress controller: connections to clients and backends are kept alive, and each request goes to the next
 *   backend; 502 if the request failed there, 503 if no backend is ready.
 */
export class Balancer {
  readonly #backends: Backend[] = [];
  readonly #ready = new Set<Backend>();
  /** Number of successive probes without an answer. */
  readonly #silences = new Map<Backend, number>();
  readonly #server: Server;
  readonly #agent = new Agent({ keepAlive: true, timeout: idleMs });
  readonly #sockets = new OpenSockets();
  #polling: NodeJS.Timeout | undefined;
  #polledAt = 0;
  #poll: Promise<void> | undefined;
  #turn = 0;
  /** Backend that gets all requests of some paths, instead of the next one. */
  affinity: { backend: Backend; isFor: (path: string) => boolean } | undefined;
  readonly #holds = new Map<string, { arrived: () => void; left: () => void; released: Promise<void> }>();

  constructor({ of }: { of: 'connections' | 'requests' }) {
    this.#server =
      of === 'requests'
        ? createServer({ keepAliveTimeout: 60_000 }, (incoming, outgoing) => void this.#pass(incoming, outgoing))
        : createTcpServer((client) => void this.#join(client));
    this.#server.on('connection', (socket: Socket) => this.#sockets.track(socket));
  }

  async start(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#polling = setInterval(() => void this.#look(), pollMs);
  }

  async stop(): Promise<void> {
    clearInterval(this.#polling);
    this.#agent.destroy();
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#sockets.destroy();
    await closed;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Adds a backend, which gets work after its first successful probe. */
  add(backend: Backend): void {
    this.#backends.push(backend);
  }

  remove(backend: Backend): void {
    this.#backends.splice(this.#backends.indexOf(backend), 1);
    this.#ready.delete(backend);
  }

  /** Reports whether the backend gets new work at the moment. */
  isReady(backend: Backend): boolean {
    return this.#ready.has(backend);
  }

  /**
   * Holds the next request with that path, or its answer. Only a balancer of requests can hold.
   *
   * @returns `arrived`, when it has arrived, `left`, when its client has disconnected, and `release`, which forwards it, unless the client
   * has disconnected
   */
  hold(what: Held, path: string): { arrived: Promise<void>; left: Promise<void>; release: () => void } {
    const arrival = Promise.withResolvers<void>();
    const leaving = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    this.#holds.set(`${what} ${path}`, { arrived: arrival.resolve, left: leaving.resolve, released: release.promise });
    return { arrived: arrival.promise, left: leaving.promise, release: release.resolve };
  }

  /** Probes all backends at once. Calls during a round share it. */
  #look(): Promise<void> {
    const begunAt = performance.now();
    this.#poll ??= Promise.all(this.#backends.map((backend) => this.#probe(backend))).then(() => {
      this.#polledAt = begunAt;
      this.#poll = undefined;
    });
    return this.#poll;
  }

  async #probe(backend: Backend): Promise<void> {
    const heard = await stateOf(backend.readyURL);
    const silences = heard === 'silent' ? (this.#silences.get(backend) ?? 0) + 1 : 0;
    this.#silences.set(backend, silences);
    if (heard === 'ready' && this.#backends.includes(backend)) this.#ready.add(backend);
    else if (heard === 'not ready' || silences >= failureThreshold) this.#ready.delete(backend);
  }

  async #next(): Promise<Backend | undefined> {
    while (performance.now() - this.#polledAt > knownMs) await this.#look();
    const ready = this.#backends.filter((backend) => this.#ready.has(backend));
    this.#turn += 1;
    return ready[this.#turn % ready.length];
  }

  async #join(client: Socket): Promise<void> {
    const backend = await this.#next();
    if (client.destroyed) return;
    if (backend === undefined) {
      client.resetAndDestroy();
      return;
    }
    const upstream = connect(backend.port, '127.0.0.1');
    this.#sockets.track(upstream);
    client.pipe(upstream).pipe(client);
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
  }

  async #pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    await this.#holdUp('request', incoming.url, outgoing);
    const { affinity } = this;
    const backend = affinity?.isFor(incoming.url ?? '') ? affinity.backend : await this.#next();
    if (outgoing.destroyed) return;
    if (backend === undefined) {
      outgoing.writeHead(503).end('no backend is ready');
      return;
    }
    const { method, url, headers } = incoming;
    const { connection: _hopByHop, ...rest } = headers;
    const upstream = request({ host: '127.0.0.1', port: backend.port, agent: this.#agent, method, path: url, headers: rest });
    upstream.on('response', async (answer) => {
      await this.#holdUp('answer', url, outgoing);
      const { connection: _ofThatHop, 'keep-alive': _too, ...answered } = answer.headers;
      outgoing.writeHead(answer.statusCode ?? 502, answered);
      answer.pipe(outgoing);
      answer.on('error', () => outgoing.destroy());
    });
    upstream.on('error', (error) => {
      if (outgoing.headersSent) outgoing.destroy();
      else outgoing.writeHead(502).end(`the backend failed: ${error.message}`);
    });
    outgoing.on('close', () => outgoing.writableFinished || upstream.destroy());
    incoming.pipe(upstream);
  }

  async #holdUp(what: Held, path: string | undefined, outgoing: ServerResponse): Promise<void> {
    const hold = this.#holds.get(`${what} ${path}`);
    if (hold === undefined) return;
    this.#holds.delete(`${what} ${path}`);
    outgoing.once('close', hold.left);
    hold.arrived();
    await hold.released;
  }
}

/** Probes a backend. A process that has ended refuses the connection. */
async function stateOf(readyURL: string): Promise<'ready' | 'not ready' | 'silent'> {
  try {
    // A kubelet uses a new connection for each probe.
    const { statusCode, body } = await ask(readyURL, { signal: AbortSignal.timeout(pollMs), reset: true });
    await body.dump();
    return statusCode === 200 ? 'ready' : 'not ready';
  } catch (error) {
    return error instanceof Error && error.name === 'TimeoutError' ? 'silent' : 'not ready';
  }
}

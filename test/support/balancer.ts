import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Server, type Socket } from 'node:net';

const pollMs = 1_000;
/** So many probes without an answer in a row, and a backend is taken for dead; a kubelet is no quicker. */
const failureThreshold = 15;

type Held = 'request' | 'answer';

/** A replica, on 127.0.0.1. */
export interface Backend {
  port: number;
  /** What its readiness probe asks. */
  readyURL: string;
}

/**
 * A load balancer of the tests. It asks each backend's `/readyz` once a second and gives new work, in turn, to those that said 200 the
 * last time (one that says nothing for 15 s is out too): so it learns a second late, as every client in a cluster does. It never
 * sends anything twice, and never elsewhere because of a failure: what a backend loses is lost.
 *
 * - of connections, as kube-proxy: one is given to a backend and stays there to its end, whatever `/readyz` says meanwhile;
 * - of requests, as an ingress controller: connections to clients and backends are kept alive, and each request goes to the next
 *   backend; 502 where that failed, 503 where there is none.
 */
export class Balancer {
  readonly #backends: Backend[] = [];
  readonly #ready = new Set<Backend>();
  /** In a row. */
  readonly #silences = new Map<Backend, number>();
  readonly #server: Server;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #sockets = new Set<Socket>();
  #polling: NodeJS.Timeout | undefined;
  #turn = 0;
  readonly #holds = new Map<string, { arrived: () => void; released: Promise<void> }>();

  constructor({ of }: { of: 'connections' | 'requests' }) {
    this.#server =
      of === 'requests'
        ? createServer({ keepAliveTimeout: 60_000 }, (incoming, outgoing) => void this.#pass(incoming, outgoing))
        : createTcpServer((client) => this.#join(client));
    this.#server.on('connection', (socket: Socket) => this.#track(socket));
  }

  async start(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#polling = setInterval(() => this.#poll(), pollMs);
  }

  async stop(): Promise<void> {
    clearInterval(this.#polling);
    this.#agent.destroy();
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** It gets work as soon as it was found to be ready. */
  add(backend: Backend): void {
    this.#backends.push(backend);
  }

  remove(backend: Backend): void {
    this.#backends.splice(this.#backends.indexOf(backend), 1);
    this.#ready.delete(backend);
  }

  /** Whether it gets new work at the moment. */
  isReady(backend: Backend): boolean {
    return this.#ready.has(backend);
  }

  /**
   * The next request with that path, or its answer, waits here (of requests only).
   *
   * @returns `arrived`, when it has come, and `release`, which lets it go on, unless the client has gone
   */
  hold(what: Held, path: string): { arrived: Promise<void>; release: () => void } {
    const arrival = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    this.#holds.set(`${what} ${path}`, { arrived: arrival.resolve, released: release.promise });
    return { arrived: arrival.promise, release: release.resolve };
  }

  #poll(): void {
    for (const backend of this.#backends) void this.#probe(backend);
  }

  async #probe(backend: Backend): Promise<void> {
    const heard = await stateOf(backend.readyURL);
    const silences = heard === 'silent' ? (this.#silences.get(backend) ?? 0) + 1 : 0;
    this.#silences.set(backend, silences);
    if (heard === 'ready' && this.#backends.includes(backend)) this.#ready.add(backend);
    else if (heard === 'not ready' || silences >= failureThreshold) this.#ready.delete(backend);
  }

  #next(): Backend | undefined {
    const ready = this.#backends.filter((backend) => this.#ready.has(backend));
    this.#turn += 1;
    return ready[this.#turn % ready.length];
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#sockets.delete(socket));
  }

  #join(client: Socket): void {
    const backend = this.#next();
    if (backend === undefined) {
      client.resetAndDestroy();
      return;
    }
    const upstream = connect(backend.port, '127.0.0.1');
    this.#track(upstream);
    client.pipe(upstream).pipe(client);
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
  }

  async #pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    await this.#holdUp('request', incoming.url);
    if (outgoing.destroyed) return;
    const backend = this.#next();
    if (backend === undefined) {
      outgoing.writeHead(503).end('no backend is ready');
      return;
    }
    const { method, url, headers } = incoming;
    const { connection: _hopByHop, ...rest } = headers;
    const upstream = request({ host: '127.0.0.1', port: backend.port, agent: this.#agent, method, path: url, headers: rest });
    upstream.on('response', async (answer) => {
      await this.#holdUp('answer', url);
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

  async #holdUp(what: Held, path: string | undefined): Promise<void> {
    const hold = this.#holds.get(`${what} ${path}`);
    if (hold === undefined) return;
    this.#holds.delete(`${what} ${path}`);
    hold.arrived();
    await hold.released;
  }
}

/** A process that is gone refuses the connection. */
async function stateOf(readyURL: string): Promise<'ready' | 'not ready' | 'silent'> {
  try {
    const answer = await fetch(readyURL, { signal: AbortSignal.timeout(pollMs) });
    await answer.text();
    return answer.status === 200 ? 'ready' : 'not ready';
  } catch (error) {
    return error instanceof Error && error.name === 'TimeoutError' ? 'silent' : 'not ready';
  }
}

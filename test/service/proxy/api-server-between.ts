import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { request as callCluster, createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { OwnApiServer } from '../../support/api-server.ts';

/** A server in front of the cluster, which answers some requests as the test says, like a broken or a hostile API server. */
export class ApiServerBetween {
  /** Requests that the test answers. */
  readonly received: IncomingMessage[] = [];
  /** Path below which the test answers. */
  readonly #prefix: string;
  /** Answers the requests below that path. */
  handle: (request: IncomingMessage, response: ServerResponse) => void = (_request, response) => response.end('{}');
  /** Receives the requests that the API server answers. */
  onForward: (request: IncomingMessage) => void = () => undefined;
  /** Answers the requests with `Upgrade`. */
  upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void = (_request, socket) => socket.destroy();
  #server: Server | undefined;
  #open = new Set<Duplex>();

  constructor(prefix = '/apis/between') {
    this.#prefix = prefix;
  }

  /** Starts the server; the `between` of `startServer`. */
  readonly start = async (cluster: OwnApiServer): Promise<{ url: string; stop(): Promise<void> }> => {
    const { certificate: cert, key } = cluster.serving;
    const server = createServer({ cert, key }, (request, response) => {
      if (!request.url?.startsWith(this.#prefix)) {
        this.onForward(request);
        return forward(cluster, request, response);
      }
      this.received.push(request);
      this.handle(request, response);
    });
    this.#server = server;
    server.on('connection', (socket) => {
      this.#open.add(socket);
      socket.on('close', () => this.#open.delete(socket));
    });
    server.on('upgrade', (request, socket, head) => {
      this.received.push(request);
      socket.on('error', () => undefined);
      this.upgrade(request, socket, head);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const stop = async () => {
      for (const socket of this.#open) socket.destroy();
      server.close();
    };
    return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, stop };
  };

  /** Returns the number of open connections. */
  async connections(): Promise<number> {
    return new Promise((resolve, reject) => this.#server?.getConnections((error, count) => (error ? reject(error) : resolve(count))));
  }

  get last(): IncomingMessage {
    const last = this.received.at(-1);
    if (last === undefined) throw new Error('nothing arrived');
    return last;
  }
}

function forward(cluster: OwnApiServer, request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(cluster.url);
  const call = callCluster(
    {
      host: url.hostname,
      port: url.port,
      path: request.url,
      method: request.method,
      headers: { ...request.headers, host: url.host },
      ca: cluster.certificateAuthority,
    },
    (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers).flushHeaders();
      answer.pipe(response);
    },
  );
  call.on('error', () => response.destroy());
  response.on('close', () => call.destroy());
  request.pipe(call);
}

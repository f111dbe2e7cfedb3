/** A proxy in front of the service, which stops answering and goes on. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { OpenSockets } from '../../support/open-sockets.ts';

/** `files`: only files of the console are answered; `none`: each connection is closed; `silent`: none is answered. */
type Answers = 'all' | 'files' | 'none' | 'silent';

const isFile = (url: string): boolean => !/^\/(?:api|apis|auth|identity|openapi|plugins|version)\b/.test(url);

export class Front {
  readonly #target: number;
  readonly #server: Server;
  readonly #sockets = new OpenSockets();
  readonly #open = new Set<ServerResponse>();
  #answers: Answers = 'all';
  #pending = 0;

  private constructor(target: number) {
    this.#target = target;
    this.#server = createServer((incoming, response) => this.#pass(incoming, response));
    this.#server.on('connection', (socket) => this.#sockets.track(socket));
    this.#server.on('upgrade', (incoming, socket, head) => this.#upgrade(incoming, socket, head));
  }

  static async start(target: number): Promise<Front> {
    const front = new Front(target);
    front.#server.listen(0, '127.0.0.1');
    await once(front.#server, 'listening');
    return front;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' && address ? address.port : 0;
  }

  /** Number of requests without a complete answer, except streams. */
  get pending(): number {
    return this.#pending;
  }

  async stop(): Promise<void> {
    this.#sockets.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  /** Ends open connections and streams, as a service that stops does. */
  answer(answers: Answers): void {
    this.#answers = answers;
    if (answers === 'all') for (const response of this.#open) response.socket?.destroy();
    else if (answers !== 'silent') this.#sockets.destroy();
  }

  #isAnswered(url: string): boolean {
    return this.#answers === 'all' || (this.#answers === 'files' && isFile(url));
  }

  #pass(incoming: IncomingMessage, response: ServerResponse): void {
    const { url = '/', method, headers } = incoming;
    if (!this.#isAnswered(url)) {
      if (this.#answers === 'silent') this.#open.add(response);
      else incoming.socket.destroy();
      return;
    }
    const isStream = url.includes('watch=true');
    if (!isStream) {
      this.#pending += 1;
      response.on('close', () => {
        this.#pending -= 1;
      });
    }
    const upstream = request({ host: '127.0.0.1', port: this.#target, path: url, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(response);
      answer.on('error', () => response.destroy());
    });
    upstream.on('error', () => response.destroy());
    response.on('close', () => upstream.destroy());
    incoming.pipe(upstream);
  }

  #upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (!this.#isAnswered(incoming.url ?? '/')) {
      socket.destroy();
      return;
    }
    const upstream = connect(this.#target, '127.0.0.1');
    const lines = incoming.rawHeaders.flatMap((name, index, all) => (index % 2 === 0 ? [`${name}: ${all[index + 1]}`] : []));
    upstream.write(`${[`${incoming.method} ${incoming.url} HTTP/1.1`, ...lines].join('\r\n')}\r\n\r\n`);
    upstream.write(head);
    upstream.pipe(socket).pipe(upstream);
    for (const [one, other] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
    }
  }
}

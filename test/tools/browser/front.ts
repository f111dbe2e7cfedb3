/** A proxy in front of the service, which stops answering and goes on. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Browser } from 'playwright-core';
import { forSuite } from '../../support/for-suite.ts';
import { OpenSockets } from '../../support/open-sockets.ts';
import { startChromium } from './chromium.ts';
import { Demo, type DemoOptions } from './demo.ts';

/**
 * `files`: only files of the console are answered; `none`: each connection is closed; `held`: a write is not answered, and from then on each
 * connection but that of a write is closed; `cut`: a write is done, and its answer ends after the headers.
 */
type Answers = 'all' | 'files' | 'none' | 'held' | 'cut';

const isFile = (url: string): boolean => !/^\/(?:api|apis|auth|identity|openapi|plugins|version)\b/.test(url);

export class Front {
  readonly #target: number;
  readonly #server: Server;
  readonly #sockets = new OpenSockets();
  readonly #held = new Set<ServerResponse>();
  #answers: Answers = 'all';
  #pending = 0;
  /** Methods and paths of the writes that have reached the service. */
  readonly written: string[] = [];

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
    for (const response of this.#held) response.socket?.destroy();
    this.#held.clear();
    if (answers === 'files' || answers === 'none') this.#sockets.destroy();
  }

  #isAnswered(url: string): boolean {
    if (this.#answers === 'held') return this.#held.size === 0;
    return this.#answers === 'all' || this.#answers === 'cut' || (this.#answers === 'files' && isFile(url));
  }

  #pass(incoming: IncomingMessage, response: ServerResponse): void {
    const { url = '/', method, headers } = incoming;
    const isWrite = method !== 'GET' && !/accessreviews|dryRun/.test(url);
    if (isWrite && this.#answers === 'held') {
      this.#held.add(response);
      for (const socket of this.#sockets) if (![...this.#held].some((held) => held.socket === socket)) socket.destroy();
      return;
    }
    if (!this.#isAnswered(url)) {
      incoming.socket.destroy();
      return;
    }
    const isCut = this.#answers === 'cut' && isWrite;
    if (isWrite) this.written.push(`${method} ${url}`);
    const isStream = url.includes('watch=true');
    if (!isStream) {
      this.#pending += 1;
      response.on('close', () => {
        this.#pending -= 1;
      });
    }
    const upstream = request({ host: '127.0.0.1', port: this.#target, path: url, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      if (isCut) {
        response.flushHeaders();
        answer.resume().on('end', () => response.destroy());
        return;
      }
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

/** Starts the demo, and a browser that reaches it through a proxy. Each test begins with a service that answers. */
export function demoBehindFront(options: DemoOptions): { browser: Browser; demo: Demo; front: Front } {
  const demo = forSuite(() => Demo.start(options));
  const front = forSuite(() => Front.start(Number(new URL(demo.url).port)));
  const browser = forSuite(
    () => startChromium(`--host-resolver-rules=MAP ${new URL(demo.url).host} 127.0.0.1:${front.port}`),
    (it) => it.close(),
  );
  afterEach(() => front.answer('all'));
  return { browser, demo, front };
}

import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { freePort } from './free-port.ts';
import { OpenSockets } from './open-sockets.ts';

/** A plain TCP relay before an upstream, which a test can cut and mend: the upstream's certificate and bytes stay real. */
export class TcpProxy {
  readonly #target: URL;
  readonly #silenceMs: number;
  readonly #sockets = new OpenSockets();
  readonly #upstreams = new Set<Socket>();
  #server: Server;
  #port = 0;
  #isSilent = false;
  #isHeld = false;
  #accepted = 0;

  /** @param silenceMs how long a connection may be silent, as behind a reverse proxy; 0 for as long as both sides want */
  constructor(target: string, silenceMs = 0) {
    this.#target = new URL(target);
    this.#silenceMs = silenceMs;
    this.#server = this.#create();
  }

  async start(): Promise<void> {
    // The system would give a port of its own to others while the relay is cut.
    this.#port ||= await freePort();
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  get url(): string {
    return `${this.#target.protocol}//127.0.0.1:${this.#port}`;
  }

  /** How many connections there have been. */
  get accepted(): number {
    return this.#accepted;
  }

  /** From here on every connection is refused and the open ones are dead. */
  async cut(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#sockets.destroy();
    await closed;
  }

  async mend(): Promise<void> {
    this.#isSilent = false;
    this.#server = this.#create();
    await this.start();
  }

  /** From here on connections are accepted and nothing is ever said, also on the open ones. */
  fallSilent(): void {
    this.#isSilent = true;
    for (const socket of this.#sockets) socket.pause().unpipe();
  }

  /** From here on what is asked arrives, and the answers wait until they are released. */
  holdAnswers(): void {
    this.#isHeld = true;
    for (const upstream of this.#upstreams) upstream.pause();
  }

  releaseAnswers(): void {
    this.#isHeld = false;
    for (const upstream of this.#upstreams) upstream.resume();
  }

  #create(): Server {
    return createServer((client) => {
      this.#accepted += 1;
      this.#sockets.track(client);
      if (this.#isSilent) return;
      const upstream = connect(Number(this.#target.port), this.#target.hostname);
      this.#sockets.track(upstream);
      this.#upstreams.add(upstream);
      client.pipe(upstream).pipe(client);
      if (this.#isHeld) upstream.pause();
      // Bytes to the client alone count, as for `proxy_read_timeout` of nginx.
      upstream.setTimeout(this.#silenceMs, () => client.destroy());
      client.on('close', () => upstream.destroy());
      upstream.on('close', () => {
        this.#upstreams.delete(upstream);
        client.destroy();
      });
    });
  }
}

import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { freePort } from './free-port.ts';
import { OpenSockets } from './open-sockets.ts';

/** A TCP relay in front of an upstream, which a test can cut and restore. The bytes and the certificate of the upstream are unchanged. */
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

  /** @param silenceMs timeout of a silent connection, as behind a reverse proxy; 0 for none */
  constructor(target: string, silenceMs = 0) {
    this.#target = new URL(target);
    this.#silenceMs = silenceMs;
    this.#server = this.#create();
  }

  async start(): Promise<void> {
    // A port that the system chooses could be given to another program while the relay is cut.
    this.#port ||= await freePort();
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  get url(): string {
    return `${this.#target.protocol}//127.0.0.1:${this.#port}`;
  }

  /** Number of accepted connections. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Refuses new connections and destroys open ones. */
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

  /** Accepts connections and sends nothing, also on open connections. */
  fallSilent(): void {
    this.#isSilent = true;
    for (const socket of this.#sockets) socket.pause().unpipe();
  }

  /** Forwards requests, and holds answers until they are released. */
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
      // The timeout counts only bytes to the client, like `proxy_read_timeout` of nginx.
      upstream.setTimeout(this.#silenceMs, () => client.destroy());
      client.on('close', () => upstream.destroy());
      upstream.on('close', () => {
        this.#upstreams.delete(upstream);
        client.destroy();
      });
    });
  }
}

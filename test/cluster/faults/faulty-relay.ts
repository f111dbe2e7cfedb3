import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { OpenSockets } from '../../support/open-sockets.ts';

/** Bytes between clients and one local port; below TLS, where a connection can be reset and can vanish. */
export class FaultyRelay {
  readonly #targetPort: number;
  readonly #server: Server;
  readonly #sockets = new OpenSockets();
  /** The client's end, by the port that the target sees. */
  readonly #clients = new Map<number, Socket>();
  /** The target's end, by the client's. */
  readonly #inner = new Map<Socket, Socket>();
  #isBlackHole = false;

  constructor(targetPort: number) {
    this.#targetPort = targetPort;
    this.#server = createServer((client) => this.#accept(client));
  }

  async start(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#sockets.destroy();
    await closed;
  }

  /** Ends by RST the connection that the target sees coming from that port. */
  reset(port: number | undefined): void {
    const client = port === undefined ? undefined : this.#clients.get(port);
    // One whose end has been sent cannot be reset, and would never let go of its handle.
    if (client?.writableEnded) client.destroy();
    else client?.resetAndDestroy();
  }

  /** Every connection there is goes dead without a word, for ever; new ones are accepted and never answered, until `mend`. */
  blackHole(): void {
    this.#isBlackHole = true;
    for (const [client, inner] of this.#inner) {
      client.unpipe(inner).pause();
      inner.unpipe(client);
      this.#inner.delete(client);
      inner.destroy();
    }
  }

  /** New connections pass. A firewall that has forgotten the old ones never says so. */
  mend(): void {
    this.#isBlackHole = false;
  }

  #accept(client: Socket): void {
    this.#sockets.track(client);
    if (this.#isBlackHole) return;
    const inner = connect(this.#targetPort, '127.0.0.1', () => this.#clients.set(inner.localPort ?? 0, client));
    this.#sockets.track(inner);
    this.#inner.set(client, inner);
    client.pipe(inner).pipe(client);
    client.on('close', () => inner.destroy());
    inner.on('close', () => {
      // Otherwise it was swallowed.
      if (this.#inner.delete(client)) client.destroy();
    });
  }
}

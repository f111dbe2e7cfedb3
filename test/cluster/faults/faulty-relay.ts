import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { OpenSockets } from '../../support/open-sockets.ts';

/** Relays bytes between clients and a local port, below TLS, where connections can be reset and can vanish. */
export class FaultyRelay {
  readonly #targetPort: number;
  readonly #server: Server;
  readonly #sockets = new OpenSockets();
  /** Sockets of clients, by the port that the target sees. */
  readonly #clients = new Map<number, Socket>();
  /** Sockets of the target, by the client's socket. */
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

  /** Resets (RST) the connection that the target sees from a port. */
  reset(port: number | undefined): void {
    const client = port === undefined ? undefined : this.#clients.get(port);
    // A socket whose end has been sent cannot be reset, and would keep its handle for ever.
    if (client?.writableEnded) client.destroy();
    else client?.resetAndDestroy();
  }

  /** Makes all connections dead silently and for ever. New ones are accepted and never answered until `mend`. */
  blackHole(): void {
    this.#isBlackHole = true;
    for (const [client, inner] of this.#inner) {
      client.unpipe(inner).pause();
      inner.unpipe(client);
      this.#inner.delete(client);
      inner.destroy();
    }
  }

  /** Lets new connections pass. A firewall that has lost the state of the old ones does not report it. */
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
      // A client that is no longer in the map was swallowed and must stay open.
      if (this.#inner.delete(client)) client.destroy();
    });
  }
}

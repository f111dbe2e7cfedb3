import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** Sends connections to Pods. */
interface Router {
  /** Resolves when the current Pods are read, or cannot be read. */
  look(): Promise<void>;
}

/** The addresses 127.N.x.y for one test run on this machine. While N is claimed, no other run gets it. */
export class LoopbackNetwork {
  readonly #lock: Server;
  readonly #prefix: string;
  readonly routers = new Set<Router>();
  #given = 1;

  private constructor(lock: Server, prefix: string) {
    this.#lock = lock;
    this.#prefix = prefix;
  }

  /** @throws Error if all networks are claimed */
  static async claim(): Promise<LoopbackNetwork> {
    for (let second = 16; second < 250; second += 1) {
      const lock = createServer();
      lock.listen(1, `127.${second}.0.1`);
      const isFree = await once(lock, 'listening').then(
        () => true,
        () => false,
      );
      if (isFree) return new LoopbackNetwork(lock, `127.${second}`);
    }
    throw new Error('no loopback network is free on this machine');
  }

  /** Returns an unused address. */
  address(): string {
    this.#given += 1;
    return `${this.#prefix}.${this.#given >> 8}.${this.#given & 255}`;
  }

  async release(): Promise<void> {
    this.#lock.close();
    await once(this.#lock, 'close');
  }
}

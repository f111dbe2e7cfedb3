import { createSecureContext } from 'node:tls';
import { Dispatcher, Pool } from 'undici';

/** Timeout of idle connections, below that of the servers: a slow machine could close one while a request is on its way. */
const maxIdleMs = 20_000;

/**
 * Connections to servers that a certificate authority verifies, with a pool for each server. After the loss of all its connections,
 * undici's Agent opens a new one for each request until two requests overlap, and parses the authority each time.
 */
export class Trusting extends Dispatcher {
  readonly #options: Pool.Options;
  readonly #pools = new Map<string, Pool>();

  /** @param ca PEM */
  constructor(ca: string, options: Pool.Options = {}) {
    super();
    this.#options = {
      keepAliveTimeout: maxIdleMs,
      keepAliveMaxTimeout: maxIdleMs,
      ...options,
      connect: { secureContext: createSecureContext({ ca }) },
    };
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const origin = String(options.origin);
    let pool = this.#pools.get(origin);
    if (pool === undefined) {
      pool = new Pool(origin, this.#options);
      this.#pools.set(origin, pool);
    }
    return pool.dispatch(options, handler);
  }

  override async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.close()));
  }

  override async destroy(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
  }
}

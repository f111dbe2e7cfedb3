import { createSecureContext } from 'node:tls';
import { Dispatcher, Pool } from 'undici';

/** Idle connections end here first, also on a machine so slow that the server would end them while a request is on its way. */
const maxIdleMs = 20_000;

/**
 * Connections to servers for which an authority vouches, a pool for each server. undici's own Agent opens one for each request once it
 * has lost them all, until two requests meet, and reads the authority for each.
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

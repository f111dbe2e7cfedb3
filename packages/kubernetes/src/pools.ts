import { createSecureContext } from 'node:tls';
import { buildConnector, Client, Pool } from 'undici';
import type { Connection, TlsOptions } from './connection.ts';
import { errorCode } from './upstream-error.ts';

/** Lifetime of an idle connection, which may be lost unnoticed. With the deadline of a call on it, that takes at most 35 s. */
const maxIdleMs = 20_000;

/** Connection pools for one kind of credential. */
export interface Pools {
  /** Pool of short calls. */
  short: Pool;
  /** Pool of long calls. */
  long: Pool;
}

/**
 * Returns the options of a pool.
 *
 * @param showsCertificate shows the certificate of the service: the API server authenticates by certificate before it reads a token
 */
export const poolOptions = (connection: Connection, connectTimeoutMs: number, showsCertificate: boolean) => ({
  connect: connector(connection, connectTimeoutMs, showsCertificate),
  headersTimeout: 0,
  keepAliveTimeout: maxIdleMs,
  // Overrides the time that the server offers.
  keepAliveMaxTimeout: maxIdleMs,
  pipelining: 1,
});

export const destroyAll = (agents: Readonly<Record<string, Pools>>) =>
  Promise.all(Object.values(agents).flatMap(({ short, long }) => [short.destroy(), long.destroy()]));

/**
 * Connects with the current TLS options of the connection, so that a new certificate authority requires no restart. The certificates are
 * parsed once for all connections, because that takes half a millisecond and 50 KiB.
 */
function connector(connection: Connection, timeout: number, showsCertificate: boolean): buildConnector.connector {
  let built: { tls: TlsOptions; connect: buildConnector.connector } | undefined;
  return (options, callback) => {
    const { tls } = connection;
    if (built?.tls !== tls) {
      const { cert, key, ...authorities } = tls;
      const shown = showsCertificate ? tls : authorities;
      built = { tls, connect: buildConnector({ ...shown, secureContext: createSecureContext(shown), timeout }) };
    }
    built.connect(options, callback);
  };
}

/**
 * Returns a pool with a connection for each concurrent call. Idle connections are reused.
 *
 * An aborted call closes its connection. undici would then open another one (nodejs/undici#5845) that no call needs, and its pool would
 * keep it: a browser aborts its watches with each page that it leaves. A call that begins on a closing connection fails with UND_ERR_INFO
 * before it is sent, and has to be repeated (`isAbortOfCall`).
 */
export const unboundedPool = (origin: string, options: Pool.Options): Pool => new Pool(origin, { ...options, factory: clientOfCalls });

function clientOfCalls(origin: URL, options: object): Client {
  const client = new Client(origin, options);
  client.on('disconnect', (url, _targets, error) => {
    if (!isAbortOfCall(error)) return;
    // This event removes the connection from the pool. Never use it in a bounded pool, where calls may wait for this connection.
    client.emit('connectionError', url, [client], error);
    client.destroy(error);
  });
  return client;
}

/** Reports whether the abort of a call closed the connection. Another call that fails by that was never sent. */
export const isAbortOfCall = (error: unknown): boolean =>
  errorCode(error) === 'UND_ERR_INFO' && error instanceof Error && error.message === 'aborted';

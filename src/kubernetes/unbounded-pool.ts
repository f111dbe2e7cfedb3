import { Client, Pool } from 'undici';

/**
 * Returns a pool with a connection for each concurrent call. Idle connections are reused.
 *
 * An aborted call closes its connection. undici would then open another one (nodejs/undici#5845) that no call needs, and its pool would
 * keep it: a browser aborts its watches with each page that it leaves. A call that begins on a closing connection fails with UND_ERR_INFO
 * before it is sent, and has to be repeated (`isLostConnection`).
 */
export const unboundedPool = (origin: string, options: Pool.Options): Pool => new Pool(origin, { ...options, factory: clientOfCalls });

function clientOfCalls(origin: URL, options: object): Client {
  const client = new Client(origin, options);
  client.on('disconnect', (url, _targets, error) => {
    if (!isAbort(error)) return;
    // This event removes the connection from the pool. Never use it in a bounded pool, where calls may wait for this connection.
    client.emit('connectionError', url, [client], error);
    client.destroy(error);
  });
  return client;
}

const isAbort = (error: Error) => 'code' in error && error.code === 'UND_ERR_INFO' && error.message === 'aborted';

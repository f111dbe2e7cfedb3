import { Client, Pool } from 'undici';

/**
 * As many connections as there are calls at one time; those that are idle wait for the next call.
 *
 * The connection of a call that is aborted goes with it. undici would open another one (nodejs/undici#5845), which nothing asked for and
 * nothing ends while it is idle, and its pool would keep it: a browser ends its watches with each page that it leaves.
 */
export const unboundedPool = (origin: string, options: Pool.Options): Pool => new Pool(origin, { ...options, factory: clientOfCalls });

function clientOfCalls(origin: URL, options: object): Client {
  const client = new Client(origin, options);
  client.on('disconnect', (url, _targets, error) => {
    if (!isAbort(error)) return;
    // By this the pool forgets it. It must not do so where it is bounded: calls may wait for just this one.
    client.emit('connectionError', url, [client], error);
    client.destroy(error);
  });
  return client;
}

const isAbort = (error: Error) => 'code' in error && error.code === 'UND_ERR_INFO' && error.message === 'aborted';

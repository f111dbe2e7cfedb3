import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** Below those that the system gives to connections and to servers on port 0, so that no suite beside this one is given it meanwhile. */
const [first, last] = [20_000, 32_000];

/**
 * A port of 127.0.0.1 that no program listens on at this moment, for a program that must be told its port. It is given out once on a
 * machine for as long as this process runs, so that it may also be closed and opened again.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(first, last);
    if ((await isReserved(port)) && (await isFree(port))) return port;
  }
}

/** By a socket without a file, which goes with the process. Where there are none, no other process is asked. */
async function isReserved(port: number): Promise<boolean> {
  const failure = await failureToListen(createServer().unref(), `\0atrium-test-port-${port}`);
  return failure !== 'EADDRINUSE';
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  if ((await failureToListen(server, port)) !== undefined) return false;
  server.close();
  await once(server, 'close');
  return true;
}

/** @returns the code of the error, if it is one */
async function failureToListen(server: Server, at: number | string): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'unknown'));
  server.listen(typeof at === 'string' ? { path: at } : { port: at, host: '127.0.0.1' }, () => resolve(undefined));
  return promise;
}

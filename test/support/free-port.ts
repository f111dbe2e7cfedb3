import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** Range below the ephemeral ports, so that the system gives none of them to connections or to servers on port 0 of other suites. */
const [first, last] = [20_000, 32_000];

/**
 * Returns a port of 127.0.0.1 on which no program listens, for a program that must be told its port. No other process of the machine gets
 * the same port as long as this process runs, so a test may also close and reopen it.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(first, last);
    if ((await isReserved(port)) && (await isFree(port))) return port;
  }
}

/** Reserves a port by an abstract socket (Linux), which ends with the process. On other systems, other processes are not considered. */
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

/** @returns the code of the error, undefined if the server could listen */
async function failureToListen(server: Server, at: number | string): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'unknown'));
  server.listen(typeof at === 'string' ? { path: at } : { port: at, host: '127.0.0.1' }, () => resolve(undefined));
  return promise;
}

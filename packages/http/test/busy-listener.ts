/** Thread that listens, tells its port, and accepts no connection from then on. */
import { parentPort } from 'node:worker_threads';
import { Listener } from '@atrium/http/listener.ts';

const listener = new Listener((_request, response) => response.end(), { host: '127.0.0.1', port: 0, requestTimeoutMs: 60_000 });
parentPort?.postMessage(await listener.start());
Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);

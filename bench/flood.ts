/** Thread that sends requests over many connections until it is terminated, so that its own work is none of the service's. */
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, threadId, workerData } from 'node:worker_threads';
import { Agent, request } from 'undici';

export interface FloodRequest {
  /** `{n}` stands for the number of the request, here and in headers. */
  path: string;
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  headers?: Readonly<Record<string, string>>;
  body?: string;
}

export interface Flood {
  url: string;
  certificateAuthority: string;
  connections: number;
  /** Sent in turn, again and again. */
  requests: readonly FloodRequest[];
}

const { url, certificateAuthority, connections, requests } = workerData as Flood;
const dispatcher = new Agent({ connections, headersTimeout: 0, bodyTimeout: 0, connect: { ca: certificateAuthority } });
const pauseMs = 4_000;
/** Answers that took less did not wait for what is slowed. */
const waitMs = 1_000;
let sent = 0;

/** @returns the status, 0 if the connection broke */
async function send(): Promise<number> {
  const number = sent++;
  const { path, method = 'GET', headers = {}, body = null } = requests[number % requests.length] as FloodRequest;
  const numbered = (text: string) => text.replace('{n}', `${number}-${threadId}`);
  try {
    const answer = await request(`${url}${numbered(path)}`, {
      dispatcher,
      method,
      headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, numbered(value)])),
      body,
    });
    await answer.body.dump();
    return answer.statusCode;
  } catch {
    return 0;
  }
}

async function repeat(): Promise<never> {
  for (;;) {
    const begun = performance.now();
    parentPort?.postMessage(await send());
    // A flood of cheap answers would measure the processor, and the bench measures places.
    if (performance.now() - begun < waitMs) await sleep(pauseMs);
  }
}

await Promise.all(
  Array.from({ length: connections }, async (_, index) => {
    // The first requests are spread over a pause, like those after it.
    await sleep((pauseMs * index) / connections);
    await repeat();
  }),
);

import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { text } from 'node:stream/consumers';
import type { Bearer } from '@atrium/http/caller.ts';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import type { Connection } from '@atrium/kubernetes/connection.ts';
import { KubernetesClient } from '@atrium/kubernetes/kubernetes-client.ts';
import pino from 'pino';
import { freePort } from '../../../test/support/free-port.ts';
import { listen, stopListening } from '../../../test/support/listening.ts';

export interface SeenRequest {
  method: string;
  /** Request target of the request line, unchanged. */
  target: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  /** Values of each header, line by line. */
  headersDistinct: NodeJS.Dict<string[]>;
  body: string;
}

/** Answers a request. A function that does nothing accepts the request and never answers. */
export type Answer = (request: SeenRequest, response: ServerResponse) => void;

/** A server whose answers, also wrong ones, are set by the test. */
export class FakeApiServer {
  readonly requests: SeenRequest[] = [];
  readonly #server: Server;
  #answer: Answer = () => undefined;
  #port = 0;

  constructor(certificate?: { certificate: string; key: string }) {
    const listener: RequestListener = (request, response) => void this.#take(request, response);
    this.#server = certificate
      ? createSecureServer({ cert: certificate.certificate, key: certificate.key }, listener)
      : createServer(listener);
    this.#server.keepAliveTimeout = 0;
  }

  async start(): Promise<this> {
    // A port that the system chooses could be given to another program while the server is stopped.
    this.#port = await listen(this.#server, this.#port || (await freePort()));
    return this;
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Answers all requests from now on. */
  answer(answer: Answer): void {
    this.#answer = answer;
  }

  /** Resets all connections, and refuses new ones until the next start. */
  stop(): Promise<void> {
    return stopListening(this.#server);
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const target = request.url ?? '';
    const [path = '', query = ''] = target.split(/\?(.*)/s);
    request.on('error', () => undefined);
    const body = await text(request).catch(() => '');
    const { headers, headersDistinct } = request;
    const seen = { method: request.method ?? '', target, path, query: new URLSearchParams(query), headers, headersDistinct, body };
    this.requests.push(seen);
    this.#answer(seen, response);
  }
}

export function json(response: ServerResponse, code: number, body: unknown, headers: Record<string, string | string[]> = {}): void {
  response.writeHead(code, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body));
}

export const statusBody = (code: number, reason: string, message = reason) => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message,
  reason,
  code,
});

export const status = (response: ServerResponse, code: number, reason: string, headers: Record<string, string | string[]> = {}) =>
  json(response, code, statusBody(code, reason), headers);

/** Answers that a Lease does not exist, as the API server does. */
export const leaseNotFound = (response: ServerResponse, name: string) =>
  json(response, 404, { ...statusBody(404, 'NotFound'), details: { name, group: 'coordination.k8s.io', kind: 'leases' } });

/** Answers the requests one after the other, and repeats the last answer. */
export function inTurn(...answers: [Answer, ...Answer[]]): Answer {
  let turn = 0;
  return (request, response) => {
    answers[Math.min(turn, answers.length - 1)]?.(request, response);
    turn += 1;
  };
}

export const silentLog = pino({ level: 'silent' });

export const bearer = (name: string): Bearer => ({ token: `token-of-${name}`, hash: `hash-of-${name}` });

export const forever = () => new AbortController().signal;

const connectionTo = ({ url }: { url: string }, authorization: string | undefined = 'Bearer ours'): Connection => ({
  server: url,
  tls: {},
  namespace: 'atrium-system',
  authorization: async () => authorization,
  discardAuthorization() {},
});

/** Returns a patient client by default: the result of a test must not depend on the speed of the machine. */
export const clientOf = (server: { url: string }, requestTimeoutMs = 60_000, metrics = new Metrics(), clock = () => performance.now()) =>
  new KubernetesClient({ connection: connectionTo(server), requestTimeoutMs, metrics, clock });

/** Returns the reason for which a promise is rejected. */
export async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('it did not fail');
}

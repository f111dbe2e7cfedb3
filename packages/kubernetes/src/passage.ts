import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import type { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { beginCall, type OutgoingCall } from '@atrium/http/telemetry/tracing.ts';
import { badRequest } from '@atrium/objects/status.ts';
import { auditIDHeader } from './audit-id.ts';
import { callTimes } from './call-times.ts';
import type { Connection } from './connection.ts';
import { abortable, Deadline } from './deadline.ts';
import { destroyAll, isAbortOfCall, type Pools, poolOptions, unboundedPool } from './pools.ts';
import { type Credential, failureOf, isLostConnection, type UpstreamResponse } from './transport.ts';
import { callUpgrade, type UpgradeAnswer } from './upgrade-call.ts';

/** Timeout until the first byte of an answer, and then between bytes (docs/contract/kubernetes.md). */
const silenceMs = 60_000;
const maxAttempts = 3;

/** A request that is forwarded to the API server on behalf of its sender. */
export interface PassedCall {
  method: string;
  /** Path of plain segments, checked by the caller and sent byte for byte. */
  path: string;
  /** Query with its question mark, or ''. */
  search: string;
  /** Headers of the request. `passedHeaders` selects those that are forwarded. */
  headers: IncomingHttpHeaders;
  /** Id of its event, which names the request in the audit log of the API server, too. */
  auditID?: string | undefined;
  /** Body, which cannot be sent twice, and is read once the call is sent. */
  body?: { stream: Readable; length: number | undefined } | undefined;
  /** Set for a watch, which has no timeout. */
  isLong: boolean;
  signal: AbortSignal;
}

export interface PassageOptions {
  connection: Connection;
  requestTimeoutMs: number;
  metrics: Metrics;
}

/** Connections for forwarded requests, apart from those of the service: a caller who holds many open does not delay its calls. */
export class Passage {
  readonly #options: PassageOptions;
  readonly #times: ReturnType<typeof callTimes>;
  readonly #origin: URL;
  readonly #prefix: string;
  readonly #pools: Readonly<Record<'ours' | 'theirs', Pools>>;

  constructor(options: PassageOptions) {
    const { connection, requestTimeoutMs } = options;
    this.#options = options;
    this.#times = callTimes(options.metrics);
    this.#origin = new URL(connection.server);
    this.#prefix = this.#origin.pathname.replace(/\/$/, '');
    const { origin } = this.#origin;
    const pools = (showsCertificate: boolean) => {
      // Connections are bounded by `server.maxInFlight`.
      const shared = poolOptions(connection, requestTimeoutMs, showsCertificate);
      return {
        short: unboundedPool(origin, { ...shared, bodyTimeout: silenceMs }),
        long: unboundedPool(origin, { ...shared, bodyTimeout: 0 }),
      };
    };
    this.#pools = { ours: pools(true), theirs: pools(false) };
  }

  /**
   * Returns the answer of the API server with the body unread, also if it is a refusal.
   *
   * @throws StatusError 400, 503 if the API server cannot be reached, 504 if no answer begins in time
   */
  answer(call: PassedCall, credential: Credential): Promise<UpstreamResponse> {
    return this.#timed(call, call.isLong ? 'pass watch' : 'pass', async (signal, traceHeaders) => {
      const pool = this.#pools[credential.isTheirs ? 'theirs' : 'ours'][call.isLong ? 'long' : 'short'];
      const { body } = call;
      const options = () => ({
        path: this.#pathOf(call),
        // undici types the common methods only. Node.js has refused methods that HTTP does not know.
        method: call.method as 'GET',
        headers: {
          ...traceHeaders,
          ...this.#headersOf(call, credential, false),
          ...(body?.length !== undefined && { 'content-length': String(body.length) }),
        },
        // undici may end this stream before it is read, and leaves the body whole.
        body: body ? Readable.from(chunksOf(body.stream), { objectMode: false }) : null,
        signal,
      });
      for (let attempt = 1; ; attempt += 1) {
        try {
          const response = await abortable(pool.request(options()), signal);
          // The reader of the body receives the error, too.
          response.body.on('error', () => undefined);
          return response;
        } catch (error) {
          const isRead = call.method === 'GET' || call.method === 'HEAD';
          const isRepeatable = isAbortOfCall(error) || (isRead && isLostConnection(error));
          if (signal.aborted || attempt === maxAttempts || !isRepeatable) throw error;
        }
      }
    });
  }

  /** Forwards a request for another protocol. */
  upgrade(call: PassedCall, protocol: string, credential: Credential): Promise<UpgradeAnswer & { statusCode: number }> {
    return this.#timed(call, 'pass upgrade', async (signal, traceHeaders) => {
      const { cert, key, ...tls } = this.#options.connection.tls;
      const answer = await callUpgrade({
        origin: this.#origin,
        tls: credential.isTheirs ? tls : this.#options.connection.tls,
        method: call.method,
        path: this.#pathOf(call),
        headers: {
          ...traceHeaders,
          ...this.#headersOf(call, credential, true),
          // The API server opens a WebSocket for a watch only with its own origin.
          ...(protocol === 'websocket' && { origin: this.#origin.origin }),
        },
        protocol,
        signal,
      });
      return answer.socket === undefined ? answer : { ...answer, statusCode: 101 };
    });
  }

  async close(): Promise<void> {
    await destroyAll(this.#pools);
  }

  #pathOf({ path, search }: PassedCall): string {
    return `${this.#prefix}${path}${search}`;
  }

  #headersOf({ headers, auditID }: PassedCall, { authorization, impersonation }: Credential, isUpgrade: boolean) {
    return {
      ...passedHeaders(headers, isUpgrade),
      ...(auditID !== undefined && auditIDHeader(auditID)),
      ...impersonation,
      ...(authorization !== undefined && { authorization }),
    };
  }

  async #timed<T extends { statusCode: number }>(
    call: PassedCall,
    label: string,
    send: (signal: AbortSignal, traceHeaders: OutgoingCall['headers']) => Promise<T>,
  ): Promise<T> {
    const isUnbounded = call.isLong && label !== 'pass upgrade';
    const deadline = new Deadline(call.signal, silenceMs);
    if (isUnbounded) deadline.release();
    const endTimer = this.#times.startTimer({ call: label });
    const outgoing = beginCall({ name: label, method: call.method, server: this.#origin.host }, endTimer);
    try {
      const answer = await send(deadline.signal, outgoing.headers);
      outgoing.end(answer.statusCode);
      deadline.release();
      return answer;
    } catch (error) {
      deadline.end();
      outgoing.end(deadline.hasPassed ? 'timeout' : deadline.signal.aborted ? 'aborted' : 'unreachable');
      throw failureOf(error, call.signal, deadline);
    }
  }
}

async function* chunksOf(stream: Readable): AsyncGenerator<Uint8Array> {
  yield* stream;
}

/** Headers of a request that are forwarded. None of them identifies the caller, which is left to the client of the API server. */
const ofRequest = [
  'accept',
  'accept-encoding',
  'content-type',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'range',
  'user-agent',
  'kubectl-command',
  'kubectl-session',
];

/** Further headers of a request for another protocol. */
const ofUpgrade = [
  'x-stream-protocol-version',
  'sec-websocket-key',
  'sec-websocket-version',
  'sec-websocket-protocol',
  'sec-websocket-extensions',
];

/** Values that every proxy reads as one header with one value. */
const plainValue = /^[\t\x20-\x7e]{1,8192}$/;

/**
 * Returns the headers that are forwarded. Headers that `Connection` names are for this hop alone (RFC 9110, 7.6.1).
 *
 * @throws StatusError 400 for a value that is not plain: without it, the request would have another meaning
 */
export function passedHeaders(headers: IncomingHttpHeaders, isUpgrade: boolean): Record<string, string> {
  const nominated = new Set((headers.connection ?? '').toLowerCase().split(/[\s,]+/));
  const passed: Record<string, string> = {};
  for (const name of isUpgrade ? [...ofRequest, ...ofUpgrade] : ofRequest) {
    const value = headers[name];
    if (value === undefined || value === '' || nominated.has(name)) continue;
    const text = [value].flat().join(', ');
    if (!plainValue.test(text)) throw badRequest(`the header ${name} contains characters that cannot be passed on`);
    passed[name] = text;
  }
  return passed;
}

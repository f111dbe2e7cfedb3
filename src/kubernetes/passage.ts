import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { Metrics } from '../http/metrics.ts';
import { abortable } from './abortable.ts';
import type { Connection } from './connection.ts';
import { Deadline } from './deadline.ts';
import { passedHeaders } from './passed-headers.ts';
import { type Credential, destroyAll, failureOf, type Pools, poolOptions, type UpstreamResponse } from './transport.ts';
import { unboundedPool } from './unbounded-pool.ts';
import { callUpgrade, type UpgradeAnswer } from './upgrade-call.ts';

/** Until the first byte of an answer, and then between bytes (docs/contract/kubernetes.md). */
const silenceMs = 60_000;
const maxAttempts = 3;

/** A request for the API server to answer as it likes, on behalf of its sender. */
export interface PassedCall {
  method: string;
  /** Plain segments, checked by the code that passes the call on: it goes along byte for byte. */
  path: string;
  /** With its question mark, or empty. */
  search: string;
  /** As they came. Those go along that `passedHeaders` lets. */
  headers: IncomingHttpHeaders;
  /** It cannot be sent twice. */
  body?: { stream: Readable; length: number | undefined } | undefined;
  /** May be silent for as long as both sides want: a watch. */
  isLong: boolean;
  signal: AbortSignal;
}

export interface PassageOptions {
  connection: Connection;
  requestTimeoutMs: number;
  metrics: Metrics;
}

/** The connections by which requests are passed on: a caller who holds many open keeps none from the calls of the service. */
export class Passage {
  readonly #options: PassageOptions;
  readonly #origin: URL;
  readonly #prefix: string;
  readonly #pools: Readonly<Record<'ours' | 'theirs', Pools>>;

  constructor(options: PassageOptions) {
    const { connection, requestTimeoutMs } = options;
    this.#options = options;
    this.#origin = new URL(connection.server);
    this.#prefix = this.#origin.pathname.replace(/\/$/, '');
    const { origin } = this.#origin;
    const pools = (showsCertificate: boolean) => {
      // How many there are at one time, the frame bounds: `server.maxInFlight`.
      const shared = poolOptions(connection, requestTimeoutMs, showsCertificate);
      return {
        short: unboundedPool(origin, { ...shared, bodyTimeout: silenceMs }),
        long: unboundedPool(origin, { ...shared, bodyTimeout: 0 }),
      };
    };
    this.#pools = { ours: pools(true), theirs: pools(false) };
  }

  /**
   * What the API server answers, whatever it is, with the body unread.
   *
   * @throws StatusError 400, 503 if it is out of reach, 504 if no answer begins in time
   */
  answer(call: PassedCall, credential: Credential): Promise<UpstreamResponse> {
    return this.#timed(call, call.isLong ? 'pass watch' : 'pass', async (signal) => {
      const pool = this.#pools[credential.isTheirs ? 'theirs' : 'ours'][call.isLong ? 'long' : 'short'];
      const { body } = call;
      const options = {
        path: this.#pathOf(call),
        // Typed as a list of those in use; the parser of the edge knows no others than HTTP does.
        method: call.method as 'GET',
        headers: {
          ...this.#headersOf(call, credential, false),
          ...(body?.length !== undefined && { 'content-length': String(body.length) }),
        },
        body: body?.stream ?? null,
        signal,
      };
      for (let attempt = 1; ; attempt += 1) {
        try {
          const response = await abortable(pool.request(options), signal);
          // The reader of the body gets the error too.
          response.body.on('error', () => undefined);
          return response;
        } catch (error) {
          // A kept connection that the API server has closed meanwhile.
          const isRepeatable = (call.method === 'GET' || call.method === 'HEAD') && isLost(error);
          if (signal.aborted || attempt === maxAttempts || !isRepeatable) throw error;
        }
      }
    });
  }

  /** The same for one that asks for another protocol. */
  upgrade(call: PassedCall, protocol: string, credential: Credential): Promise<UpgradeAnswer & { statusCode: number }> {
    return this.#timed(call, 'pass upgrade', async (signal) => {
      const { cert, key, ...tls } = this.#options.connection.tls;
      const answer = await callUpgrade({
        origin: this.#origin,
        tls: credential.isTheirs ? tls : this.#options.connection.tls,
        method: call.method,
        path: this.#pathOf(call),
        headers: {
          ...this.#headersOf(call, credential, true),
          // Without one, or with one that is not its own, it opens no WebSocket for a watch.
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

  #headersOf({ headers }: PassedCall, { authorization, impersonation }: Credential, isUpgrade: boolean) {
    return { ...passedHeaders(headers, isUpgrade), ...impersonation, ...(authorization !== undefined && { authorization }) };
  }

  async #timed<T extends { statusCode: number }>(call: PassedCall, label: string, send: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const isUnbounded = call.isLong && label !== 'pass upgrade';
    const deadline = new Deadline(call.signal, silenceMs);
    if (isUnbounded) deadline.release();
    const end = this.#options.metrics.upstream.startTimer({ call: label });
    try {
      const answer = await send(deadline.signal);
      end({ outcome: answer.statusCode });
      deadline.release();
      return answer;
    } catch (error) {
      deadline.end();
      end({ outcome: deadline.hasPassed ? 'timeout' : deadline.signal.aborted ? 'aborted' : 'unreachable' });
      throw failureOf(error, call.signal, deadline);
    }
  }
}

const isLost = (error: unknown) =>
  error instanceof Error && 'code' in error && ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'].includes(String(error.code));

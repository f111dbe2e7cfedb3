import { setImmediate as letOthersGoOn, setTimeout as sleep } from 'node:timers/promises';
import { createSecureContext } from 'node:tls';
import type { Logger } from 'pino';
import { buildConnector, type Dispatcher, Pool } from 'undici';
import { parseExact } from '../api/exact-json.ts';
import { badRequest, StatusError, serviceUnavailable, timedOut, unknownPath } from '../api/status.ts';
import type { Metrics } from '../http/metrics.ts';
import { abortable } from './abortable.ts';
import type { Connection, TlsOptions } from './connection.ts';
import { Deadline } from './deadline.ts';
import type { ImpersonationHeaders } from './impersonation.ts';
import { isResourcePath } from './resource.ts';
import { ServerClock } from './server-clock.ts';
import { unboundedPool } from './unbounded-pool.ts';
import { errorCode, readErrorBody, UpstreamError } from './upstream-error.ts';

/** Calls beyond these wait for a connection, within their deadline. */
const maxConnections = 64;

/** Calls beyond these are refused: they would only wait for their deadline. */
const maxPending = 2048;

/** An idle connection may have died without a word: with the deadline of a call on it, that is over within 35 s. */
const maxIdleMs = 20_000;

const maxRetries = 2;

/** A connection that fails now and then fills no log. */
const logEveryMs = 10_000;

/** One call to the API server, without a credential. There is no way to add a header: what a caller sent never travels on. */
export interface ApiCall {
  /** Label of the metrics, from a closed set, e.g. `get configmaps`. */
  call: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** As `resourcePath` builds it. */
  path: string;
  /** A string goes along byte for byte. */
  query?: URLSearchParams | string;
  accept?: string;
  /** Sent as JSON. */
  body?: unknown;
  /** Of the body, e.g. `application/merge-patch+json`. */
  contentType?: string;
  /** Of the request on whose behalf the call is made; its reason is thrown when it aborts. */
  signal: AbortSignal;
  /** Whether twice does the same as once, so that the call is tried again after a lost connection. A GET always is. */
  isRepeatable?: boolean;
  /** A list that a watch follows takes one of the connections for long calls: the watch then goes on over it, and opens none. */
  isBeforeWatch?: boolean;
  /** Reads integers of the answer that a double cannot hold as BigInt. */
  keepsDigits?: boolean;
}

/** A call whose answer is read as it comes. */
export interface StreamCall extends ApiCall {
  /** May take longer than the deadline once it has begun, e.g. a watch: it gets a connection beside the pool of the short calls. */
  isLong: boolean;
}

/** Who makes a call. */
export interface Credential {
  /** Value of the Authorization header. Undefined: a client certificate says who we are. */
  readonly authorization: string | undefined;
  readonly impersonation?: ImpersonationHeaders;
  /** It is the caller's own: our certificate must not be shown beside it. */
  readonly isTheirs?: true;
}

/** Of one kind of calls. */
export interface Pools {
  /** Short calls. */
  short: Pool;
  /** Those that stay. */
  long: Pool;
}

export type UpstreamResponse = Pick<Dispatcher.ResponseData, 'statusCode' | 'headers' | 'body'>;

export interface TransportOptions {
  connection: Connection;
  /** Time for one call with all its retries. */
  requestTimeoutMs: number;
  metrics: Metrics;
  /** The clock of this machine. Set by tests. */
  wallClock?: () => Date;
  /** Is told once when the API server is out of reach, and when it is back. */
  log?: Logger;
}

/** The connections to the API server: one pool for short calls, one for those that stay, and these again for tokens of callers. */
export class Transport {
  readonly #pools: Readonly<Record<'ours' | 'theirs', Pools>>;
  readonly #prefix: string;
  readonly #timeoutMs: number;
  readonly #metrics: Metrics;
  readonly serverClock: ServerClock;
  #pending = 0;
  #failure: string | undefined;
  readonly #log: Logger | undefined;
  readonly #server: string;
  #loggedAt = Number.NEGATIVE_INFINITY;
  #isLogged = false;

  constructor({ connection, requestTimeoutMs, metrics, wallClock, log }: TransportOptions) {
    this.serverClock = new ServerClock(wallClock);
    this.#log = log;
    this.#server = connection.server;
    const { origin, pathname } = new URL(connection.server);
    this.#prefix = pathname.replace(/\/$/, '');
    this.#timeoutMs = requestTimeoutMs;
    this.#metrics = metrics;
    const pools = (showsCertificate: boolean) => {
      const shared = poolOptions(connection, requestTimeoutMs, showsCertificate);
      return {
        short: new Pool(origin, { ...shared, connections: maxConnections, bodyTimeout: requestTimeoutMs }),
        long: unboundedPool(origin, { ...shared, bodyTimeout: 0 }),
      };
    };
    this.#pools = { ours: pools(true), theirs: pools(false) };
  }

  /** Why the last attempt did not get an answer, as an error code; undefined if it did. */
  failure(): string | undefined {
    return this.#failure;
  }

  /**
   * The decoded body of a success.
   *
   * @throws UpstreamError what the API server refused with
   * @throws StatusError 503 if it is out of reach or answers no JSON, 504 after the deadline
   */
  async json(call: ApiCall, credential: Credential): Promise<unknown> {
    const deadline = new Deadline(call.signal, this.#timeoutMs);
    try {
      const pool = call.isBeforeWatch ? 'long' : 'short';
      const answer = await repeated(call, deadline, async () => readJson(await this.#open(pool, call, credential, deadline), call));
      // undici gives a connection to the next call one turn of the event loop after the answer, and opens another one until then.
      if (call.isBeforeWatch) await letOthersGoOn();
      return answer;
    } catch (error) {
      throw failureOf(error, call.signal, deadline);
    } finally {
      deadline.end();
    }
  }

  /** A success with its body unread. The deadline holds until the headers; the signal until the body has ended. */
  async stream(call: StreamCall, credential: Credential): Promise<UpstreamResponse> {
    const deadline = new Deadline(call.signal, this.#timeoutMs);
    try {
      const response = await repeated(call, deadline, () => this.#open(call.isLong ? 'long' : 'short', call, credential, deadline));
      deadline.release();
      response.body.once('close', () => deadline.end());
      // The reader of the body gets the error too; without a listener, one that comes before the first read would end the process.
      response.body.on('error', () => undefined);
      return response;
    } catch (error) {
      deadline.end();
      throw failureOf(error, call.signal, deadline);
    }
  }

  async close(): Promise<void> {
    await destroyAll(this.#pools);
  }

  /** Resolves with a success. */
  async #open(pool: keyof Pools, call: ApiCall, credential: Credential, deadline: Deadline): Promise<UpstreamResponse> {
    const response = await this.#send(this.#pools[credential.isTheirs ? 'theirs' : 'ours'][pool], call, credential, deadline);
    if (response.statusCode >= 200 && response.statusCode < 300) return response;
    const body = await readErrorBody(response.body);
    if (response.statusCode < 400) throw new Error(`unexpected status ${response.statusCode}`);
    throw new UpstreamError(response.statusCode, response.headers, body);
  }

  async #send(pool: Pool, call: ApiCall, credential: Credential, deadline: Deadline): Promise<UpstreamResponse> {
    if (this.#pending >= maxPending) throw serviceUnavailable('kubernetes', { cause: new Error('too many calls are waiting') });
    const options = this.#requestOptions(call, credential);
    const end = this.#metrics.upstream.startTimer({ call: call.call });
    const sentAt = performance.now();
    this.#pending += 1;
    try {
      // undici hears an abort only once a connection stands, which a silent server may never let it have.
      const response = await abortable(pool.request({ ...options, signal: deadline.signal }), deadline.signal);
      this.#reached();
      this.serverClock.note(response.headers.date, sentAt);
      end({ outcome: response.statusCode });
      return response;
    } catch (error) {
      const outcome = deadline.hasPassed ? 'timeout' : deadline.signal.aborted ? 'aborted' : 'unreachable';
      if (outcome !== 'aborted') this.#failed(deadline.hasPassed ? 'no answer in time' : codeOf(error));
      end({ outcome });
      throw error;
    } finally {
      this.#pending -= 1;
    }
  }

  #failed(reason: string): void {
    const isFirst = this.#failure === undefined && performance.now() - this.#loggedAt > logEveryMs;
    this.#failure = reason;
    if (!isFirst) return;
    this.#loggedAt = performance.now();
    this.#isLogged = true;
    this.#log?.warn({ server: this.#server, reason }, 'the API server cannot be reached');
  }

  #reached(): void {
    this.#failure = undefined;
    if (this.#isLogged) this.#log?.info({ server: this.#server }, 'the API server answers again');
    this.#isLogged = false;
  }

  #requestOptions(call: ApiCall, { authorization, impersonation }: Credential): Omit<Dispatcher.RequestOptions, 'origin'> {
    if (!isResourcePath(call.path)) throw unknownPath();
    const query = call.query?.toString() ?? '';
    if (!rawQuery.test(query)) throw badRequest('the query holds characters that must be percent-encoded');
    return {
      path: `${this.#prefix}${call.path}${query && `?${query}`}`,
      method: call.method,
      headers: {
        accept: call.accept ?? 'application/json',
        'user-agent': 'atrium',
        ...impersonation,
        ...(authorization !== undefined && { authorization }),
        ...(call.body !== undefined && { 'content-type': call.contentType ?? 'application/json' }),
      },
      ...(call.body !== undefined && { body: JSON.stringify(call.body) }),
    };
  }
}

/** Bytes that may stand in a request line behind the `?`. */
const rawQuery = /^[!"\u0024-\u007e\u0080-\u00ff]*$/;

/** @param showsCertificate whether the API server may learn that it is us: it believes a certificate before it looks at any token */
export const poolOptions = (connection: Connection, connectTimeoutMs: number, showsCertificate: boolean) => ({
  connect: connector(connection, connectTimeoutMs, showsCertificate),
  headersTimeout: 0,
  keepAliveTimeout: maxIdleMs,
  // However long the server says that it keeps them.
  keepAliveMaxTimeout: maxIdleMs,
  pipelining: 1,
});

export const destroyAll = (agents: Readonly<Record<string, Pools>>) =>
  Promise.all(Object.values(agents).flatMap(({ short, long }) => [short.destroy(), long.destroy()]));

/**
 * Connects as the connection's TLS options are at that moment, so that a new certificate authority needs no restart. The certificates are
 * read once for all connections: that takes half a millisecond and 50 KiB.
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

async function readJson({ body }: UpstreamResponse, { keepsDigits = false }: ApiCall): Promise<unknown> {
  const text = await body.text();
  try {
    return keepsDigits ? parseExact(text) : JSON.parse(text);
  } catch {
    // The parser's own message quotes the text, which may hold secrets.
    throw new Error('the body is not JSON');
  }
}

/** Tries again what may be tried again, as long as the deadline allows. */
async function repeated<T>(
  { method, isRepeatable = method === 'GET' }: ApiCall,
  deadline: Deadline,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let retriesLeft = isRepeatable ? maxRetries : 0; ; retriesLeft -= 1) {
    try {
      return await attempt();
    } catch (error) {
      const pauseMs = pauseBeforeRetry(error);
      if (retriesLeft === 0 || deadline.signal.aborted || pauseMs >= deadline.leftMs) throw error;
      await sleep(pauseMs, undefined, { signal: deadline.signal });
    }
  }
}

const lostConnection = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** Milliseconds; Infinity if the failure is not one that a second try may cure. */
function pauseBeforeRetry(error: unknown): number {
  if (!(error instanceof UpstreamError)) return lostConnection.has(codeOf(error)) ? 0 : Number.POSITIVE_INFINITY;
  return [429, 503].includes(error.status.code) ? (error.retryAfterMs ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY;
}

export const codeOf = (error: unknown): string => errorCode(error) ?? 'unexpected answer';

/** What the caller is told of a call, or of an answer, that did not come to its end: the signal's reason, or a StatusError. */
export function failureOf(error: unknown, signal: AbortSignal, { hasPassed }: Pick<Deadline, 'hasPassed'>): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof StatusError) return error;
  return hasPassed ? timedOut('kubernetes', { cause: error }) : serviceUnavailable('kubernetes', { cause: error });
}

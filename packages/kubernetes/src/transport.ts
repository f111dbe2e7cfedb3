import { randomUUID } from 'node:crypto';
import { setTimeout as sleep, setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { reportPlaces } from '@atrium/http/limits/reports.ts';
import { type RequestFlow, Semaphore } from '@atrium/http/limits/semaphore.ts';
import { type SentWrite, sentWrites, writeMarks } from '@atrium/http/sent-writes.ts';
import type { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { beginCall } from '@atrium/http/telemetry/tracing.ts';
import { parseExact } from '@atrium/objects/json.ts';
import { badRequest, StatusError, serviceUnavailable, timedOut, unknownPath } from '@atrium/objects/status.ts';
import type { Logger } from 'pino';
import { type Dispatcher, Pool } from 'undici';
import { auditIDMark } from './audit-id.ts';
import { callTimes } from './call-times.ts';
import { ServerClock } from './clock.ts';
import type { Connection } from './connection.ts';
import { Deadline, neverAborts } from './deadline.ts';
import type { ImpersonationHeaders } from './impersonation.ts';
import { destroyAll, type Pools, poolOptions, unboundedPool } from './pools.ts';
import { corePath, groupsPath, isResourcePath } from './resource.ts';
import { errorCode, readErrorBody, UpstreamError } from './upstream-error.ts';

/**
 * Bounds of calls, each with a connection of its own. Further calls wait within their deadline, and flows take turns: the API server may be
 * slow for one caller, whose calls must not keep others waiting.
 */
const turns = {
  atOnce: 128,
  ofFlow: 16,
  maxWaiting: 1920,
  what: 'calls to the API server are waiting',
  refusal: () => serviceUnavailable('kubernetes', { cause: new Error('too many calls are waiting') }),
};

const maxRetries = 2;

/** Interval of looks for the end of writes at the stop. */
const lookMs = 20;

/**
 * Least time without an answer that counts as an outage. In a shorter one, such as that of one of two API servers behind a load balancer,
 * watches that are open are not disturbed.
 */
const leastOutageMs = 1_000;

/** Time after which a call that its sender gives up counts as unanswered. A renewal of a Lease has a deadline of its own. */
const givenUpMs = 3_000;

/** Interval of log entries, so that a connection that fails repeatedly does not fill the log. */
const logEveryMs = 10_000;

/** A call to the API server, without a credential. Headers cannot be added, so that no header of a caller is forwarded. */
export interface ApiCall {
  /** Label in the metrics, from a closed set, such as `get configmaps`. */
  call: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path, built by `resourcePath`. */
  path: string;
  /** Query. A string is sent byte for byte. */
  query?: URLSearchParams | string;
  accept?: string;
  /** Body, sent as JSON. */
  body?: unknown;
  /** Media type of the body, such as `application/merge-patch+json`. */
  contentType?: string;
  /** Signal of the request that needs the call. Its reason is thrown when it aborts. */
  signal: AbortSignal;
  /** True for a call that may be repeated, so that it is retried after a lost connection. Default: true for GET. */
  isRepeatable?: boolean;
  /** True for a list before a watch. The list uses a connection for long calls, which the watch then reuses. */
  isBeforeWatch?: boolean;
  /**
   * True for a write of an object. Once a request has sent one, its answer is waited for although the caller disconnects: what took effect
   * is audited.
   */
  isWrite?: boolean;
  /** True for a write that has no effect. */
  isDryRun?: boolean;
  /** True for a write with the account of the service that an audit event of the same request tells. */
  isAudited?: boolean;
  /** Reads integers of the answer that a double cannot hold as BigInt. */
  keepsDigits?: boolean;
}

/** A call whose answer is streamed. */
export interface StreamCall extends ApiCall {
  /**
   * True for a call that may outlast the deadline once it has begun, such as a watch. Such a call uses no connection of the short calls.
   */
  isLong: boolean;
}

/** Credential of a call. */
export interface Credential {
  /** Value of the Authorization header. Undefined if a client certificate authenticates the service. */
  readonly authorization: string | undefined;
  readonly impersonation?: ImpersonationHeaders;
  /** Marks the credential of a caller, with which the certificate of the service must not be shown. */
  readonly isTheirs?: true;
}

export type UpstreamResponse = Pick<Dispatcher.ResponseData, 'statusCode' | 'headers' | 'body'>;

export interface TransportOptions {
  connection: Connection;
  /** Deadline of a call with all its retries. */
  requestTimeoutMs: number;
  metrics: Metrics;
  /** Clock of this machine. Set by tests. */
  wallClock?: () => Date;
  /** Monotonic clock, in milliseconds. Set by tests. */
  clock?: () => number;
  /** Log that receives an entry when the API server cannot be reached, and when it answers again. */
  log?: Logger;
}

/** Connections to the API server: a pool for short calls and one for long calls, and the same again for tokens of callers. */
export class Transport {
  readonly #pools: Readonly<Record<'ours' | 'theirs', Pools>>;
  readonly #prefix: string;
  readonly #timeoutMs: number;
  readonly #times: ReturnType<typeof callTimes>;
  readonly serverClock: ServerClock;
  readonly #turns = { ours: new Semaphore(turns), theirs: new Semaphore(turns) };
  #failure: string | undefined;
  /** Time of the last answer, or of the start. */
  #answeredAt: number;
  readonly #clock: () => number;
  /** True once a call has failed, or was given up, since the last answer. */
  #isAway = false;
  readonly #onRecovery = new Set<(outageMs: number) => void>();
  readonly #log: Logger | undefined;
  readonly #server: string;
  readonly #host: string;
  #loggedAt = Number.NEGATIVE_INFINITY;
  #isLogged = false;
  /** Writes of requests under way, each with the one that an audit event may tell. */
  readonly #writes = new Map<Deadline, SentWrite | undefined>();

  constructor({ connection, requestTimeoutMs, metrics, wallClock, clock = () => performance.now(), log }: TransportOptions) {
    this.#clock = clock;
    this.#answeredAt = clock();
    this.serverClock = new ServerClock(wallClock);
    this.#log = log;
    this.#server = connection.server;
    const { origin, host, pathname } = new URL(connection.server);
    this.#host = host;
    this.#prefix = pathname.replace(/\/$/, '');
    this.#timeoutMs = requestTimeoutMs;
    this.#times = callTimes(metrics);
    const pools = (showsCertificate: boolean) => {
      const shared = poolOptions(connection, requestTimeoutMs, showsCertificate);
      return {
        short: new Pool(origin, { ...shared, connections: turns.atOnce, bodyTimeout: requestTimeoutMs }),
        long: unboundedPool(origin, { ...shared, bodyTimeout: 0 }),
      };
    };
    this.#pools = { ours: pools(true), theirs: pools(false) };
    for (const places of Object.values(this.#turns)) reportPlaces(metrics, 'kubernetes', places);
  }

  /** Returns the error code of the last attempt, undefined if it got an answer. */
  failure(): string | undefined {
    return this.#failure;
  }

  /**
   * Calls back with the length of an outage, in milliseconds, once the API server answers a call after it.
   *
   * @returns a function that removes the callback
   */
  onRecovery(callback: (outageMs: number) => void): () => void {
    this.#onRecovery.add(callback);
    return () => this.#onRecovery.delete(callback);
  }

  /**
   * Returns the decoded body of a success.
   *
   * @throws UpstreamError the refusal of the API server
   * @throws StatusError 503 if the API server cannot be reached or answers no JSON, 504 after the deadline
   */
  async json(call: ApiCall, credential: Credential): Promise<unknown> {
    const deadline = new Deadline(call.signal, this.#timeoutMs);
    const lost: SentWrite[] = [];
    const attempt = async () => {
      try {
        return await readJson(await this.#open(call.isBeforeWatch ? 'long' : 'short', call, credential, deadline), call);
      } catch (error) {
        const write = this.#writes.get(deadline);
        // The caller may have left meanwhile, which says nothing about the write.
        const isLost = write?.end === 'done' || isLostAnswer(failureOf(error, neverAborts, deadline));
        if (write && isLost) lost.push(Object.assign(write, { end: 'lost' as const }));
        throw error;
      }
    };
    try {
      const answer = await repeated(call, deadline, attempt);
      // The effect of a lost attempt is that of the last one.
      for (const write of lost) write.end = 'done';
      // undici makes a connection available one turn of the event loop after the answer, and would open another one before.
      if (call.isBeforeWatch) await yieldToEventLoop();
      return answer;
    } catch (error) {
      throw failureOf(error, call.signal, deadline);
    } finally {
      this.#writes.delete(deadline);
      deadline.end();
    }
  }

  /** Returns a success with its body unread. The deadline applies until the headers, the signal until the end of the body. */
  async stream(call: StreamCall, credential: Credential): Promise<UpstreamResponse> {
    const deadline = new Deadline(call.signal, this.#timeoutMs);
    try {
      const response = await repeated(call, deadline, () => this.#open(call.isLong ? 'long' : 'short', call, credential, deadline));
      deadline.release();
      response.body.once('close', () => deadline.end());
      // The reader of the body receives the error, too. Without a listener, an error before the first read would end the process.
      response.body.on('error', () => undefined);
      return response;
    } catch (error) {
      deadline.end();
      throw failureOf(error, call.signal, deadline);
    }
  }

  /** Waits for the writes of requests under way, at most for that time. Their callers may have left. */
  async drainWrites(withinMs: number): Promise<void> {
    const until = performance.now() + withinMs;
    while (this.#writes.size > 0 && performance.now() < until) await sleep(lookMs);
  }

  async close(): Promise<void> {
    await destroyAll(this.#pools);
  }

  /** Sends a call. @returns a success */
  async #open(pool: keyof Pools, call: ApiCall, credential: Credential, deadline: Deadline): Promise<UpstreamResponse> {
    const side = credential.isTheirs ? 'theirs' : 'ours';
    const send = (request?: RequestFlow) => {
      // Work of the service itself ends with its signal.
      const isKept = request !== undefined && call.isWrite === true;
      const write = isKept ? notedWrite(request, call, credential) : undefined;
      if (isKept) this.#writes.set(deadline, write);
      return this.#send(this.#pools[side][pool], call, credential, { deadline, isKept, write });
    };
    const response = pool === 'long' ? await send() : await this.#turns[side].hold(send, ({ body }) => body, deadline.signal);
    if (response.statusCode >= 200 && response.statusCode < 300) return response;
    const body = await readErrorBody(response.body);
    if (response.statusCode < 400) throw new Error(`unexpected status ${response.statusCode}`);
    throw new UpstreamError(response.statusCode, response.headers, body);
  }

  /**
   * @param isKept true for a call that goes on although its caller leaves
   * @param write the call as a write that an audit event may tell
   */
  async #send(
    pool: Pool,
    call: ApiCall,
    credential: Credential,
    { deadline, isKept, write }: { deadline: Deadline; isKept: boolean; write: SentWrite | undefined },
  ): Promise<UpstreamResponse> {
    const options = this.#requestOptions(call, credential);
    const endTimer = this.#times.startTimer({ call: call.call });
    const outgoing = beginCall({ name: call.call, method: call.method, server: this.#host }, endTimer);
    const headers = { ...outgoing.headers, ...options.headers, ...(write && { 'audit-id': `${auditIDMark}${write.id}` }) };
    const [sentAt, begunAt] = [performance.now(), this.#clock()];
    try {
      // undici notices an abort only on an established connection, which a silent server may never accept.
      const response = await deadline.limit(pool.request({ ...options, headers, signal: deadline.signal }), isKept);
      if (write) write.end = response.statusCode < 300 ? 'done' : 'refused';
      this.serverClock.note(response.headers.date, sentAt);
      outgoing.end(response.statusCode);
      this.#reached();
      return response;
    } catch (error) {
      const outcome = deadline.hasPassed ? 'timeout' : deadline.signal.aborted ? 'aborted' : 'unreachable';
      if (outcome !== 'aborted') this.#failed(deadline.hasPassed ? 'no answer in time' : codeOf(error));
      else if (this.#answeredAt <= begunAt && this.#clock() - begunAt >= givenUpMs) this.#isAway = true;
      outgoing.end(outcome);
      throw error;
    }
  }

  #failed(reason: string): void {
    const isFirst = this.#failure === undefined && performance.now() - this.#loggedAt > logEveryMs;
    this.#failure = reason;
    this.#isAway = true;
    if (!isFirst) return;
    this.#loggedAt = performance.now();
    this.#isLogged = true;
    this.#log?.warn({ server: this.#server, reason }, 'API server unreachable');
  }

  #reached(): void {
    const outageMs = this.#isAway ? this.#clock() - this.#answeredAt : 0;
    this.#isAway = false;
    this.#failure = undefined;
    this.#answeredAt = this.#clock();
    if (this.#isLogged) this.#log?.info({ server: this.#server }, 'the API server answers again');
    this.#isLogged = false;
    // The answered call is read first.
    if (outageMs >= leastOutageMs)
      setImmediate(() => {
        for (const callback of this.#onRecovery) callback(outageMs);
      });
  }

  #requestOptions(call: ApiCall, { authorization, impersonation }: Credential) {
    if (call.path !== groupsPath && call.path !== corePath && !isResourcePath(call.path)) throw unknownPath();
    const query = call.query?.toString() ?? '';
    if (!rawQuery.test(query)) throw badRequest('the query contains characters that must be percent-encoded');
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

/** Code of an answer that came too late for the API server itself, or for a proxy in front of it: the write may have been made. */
export const timeoutCode = 504;

/** Notes a write that an audit event of the request may tell. Returns undefined for another write. */
function notedWrite(
  request: RequestFlow,
  { call, path, isAudited, isDryRun = false }: ApiCall,
  credential: Credential,
): SentWrite | undefined {
  const isOfCaller = credential.isTheirs === true || credential.impersonation !== undefined;
  if (!isOfCaller && !isAudited) return undefined;
  const write = { call, path, isDryRun, id: `${isOfCaller ? writeMarks.caller : writeMarks.service}${randomUUID()}` };
  const writes = sentWrites.get(request) ?? [];
  sentWrites.set(request, writes);
  writes.push(write);
  return write;
}

/** Bytes that are allowed in a request line after the `?`. */
const rawQuery = /^[!"\u0024-\u007e\u0080-\u00ff]*$/;

async function readJson({ body }: UpstreamResponse, { keepsDigits = false }: ApiCall): Promise<unknown> {
  const text = await body.text();
  try {
    return keepsDigits ? parseExact(text) : JSON.parse(text);
  } catch {
    // The message of the parser quotes the text, which may hold secrets.
    throw new Error('the body is not JSON');
  }
}

/** Retries calls that may be repeated, within the deadline. */
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

const lostConnection = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET', 'UND_ERR_INFO']);

/** Reports whether the connection ended during the call: the API server has closed it, or the call began while it closed. */
export const isLostConnection = (error: unknown): boolean => lostConnection.has(codeOf(error));

/** Reports whether the API server may have done what a failed call asked for: the connection ended, or no answer came in time. */
export const isLostAnswer = (error: unknown): boolean =>
  error instanceof StatusError && (error.status.code === timeoutCode || isLostConnection(error.cause));

/** Returns the milliseconds before a retry, Infinity if a retry cannot help. */
function pauseBeforeRetry(error: unknown): number {
  if (!(error instanceof UpstreamError)) return isLostConnection(error) ? 0 : Number.POSITIVE_INFINITY;
  return [429, 503].includes(error.status.code) ? (error.retryAfterMs ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY;
}

export const codeOf = (error: unknown): string => errorCode(error) ?? 'unexpected answer';

/** Returns the error of a call or an answer that did not complete: the reason of the signal, or a StatusError. */
export function failureOf(error: unknown, signal: AbortSignal, { hasPassed }: Pick<Deadline, 'hasPassed'>): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof StatusError) return error;
  return hasPassed ? timedOut('kubernetes', { cause: error }) : serviceUnavailable('kubernetes', { cause: error });
}

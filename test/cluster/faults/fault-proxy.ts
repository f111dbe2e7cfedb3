import { once } from 'node:events';
import { Agent, type IncomingHttpHeaders, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer, Agent as SecureAgent, request as secureRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Transform } from 'node:stream';
import type { KeyPair } from '../certificates.ts';
import { FaultyRelay } from './faulty-relay.ts';

/** A request as the proxy received it. */
export interface ProxiedRequest {
  method: string;
  /** Path without the query. */
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  isWatch: boolean;
}

/** An exchange between client and upstream. A fault decides its outcome. */
interface Exchange {
  request: ProxiedRequest;
  response: ServerResponse;
  /** Forwards the request. @param take receives the upstream's answer. Default: forwards it to the client */
  pass(take?: (answer: IncomingMessage) => void): void;
  /** Ends the client's connection by RST. */
  reset(): void;
}

export type Fault = (exchange: Exchange) => void;

/** Delays the request. */
export const delay =
  (ms: number): Fault =>
  ({ pass }) =>
    void setTimeout(pass, ms);

/** Resets the connection before the upstream receives the request. */
export const reset: Fault = ({ reset }) => reset();

/** Forwards the request and loses its answer. */
export const loseAnswer: Fault = ({ pass, reset }) =>
  pass((answer) => {
    answer.resume();
    answer.once('end', reset);
  });

/** Forwards the request and holds its answer until the promise is fulfilled. */
export const holdAnswer =
  (isOver: Promise<unknown>): Fault =>
  ({ pass, response }) =>
    pass((answer) => void isOver.then(() => passOn(answer, response)));

/** Delays each part of the answer, in order. */
export const tellLate =
  (ms: number): Fault =>
  ({ pass, response }) =>
    pass((answer) => {
      const late = new Transform({ transform: (chunk, _, done) => void setTimeout(done, ms, null, chunk) });
      passOn(answer, response, late);
    });

/** Resets the connection after the first half of the answer. */
export const halfAnswer: Fault = ({ pass, response, reset }) =>
  pass((answer) => {
    response.writeHead(answer.statusCode ?? 502, endToEnd(answer.headers));
    answer.once('data', (chunk: Buffer) => response.write(chunk.subarray(0, Math.ceil(chunk.length / 2)), reset));
  });

/** Sends no answer and leaves the connection open. */
export const silence: Fault = () => undefined;

/** Answers with a Status, as the API server does. */
export const refuse =
  (code: number, reason: string, headers: Record<string, string> = {}): Fault =>
  ({ response }) => {
    response.writeHead(code, { 'content-type': 'application/json', ...headers });
    const seconds = headers['retry-after'];
    const details = seconds === undefined ? {} : { details: { retryAfterSeconds: Number(seconds) } };
    const status = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'as the test says',
      reason,
      ...details,
      code,
    };
    response.end(JSON.stringify(status));
  };

/** Answers with the page of a proxy in place of the API server. */
export const page =
  (code: number): Fault =>
  ({ response }) => {
    response.writeHead(code, { 'content-type': 'text/html', ...(code === 301 && { location: 'https://127.0.0.1:1/' }) });
    response.end(`<html><head><title>${code}</title></head><body><h1>${code}</h1></body></html>`);
  };

/** Removes the headers that apply to one connection only (RFC 9110 section 7.6.1). */
const endToEnd = ({ connection: _, 'keep-alive': __, 'transfer-encoding': ___, ...headers }: IncomingHttpHeaders) => headers;

interface Rule {
  matches: (request: ProxiedRequest) => boolean;
  fault: Fault;
  timesLeft: number;
}

export interface FaultProxyOptions {
  /** Origin of the upstream. */
  target: string;
  /** PEM of the authority that verifies the upstream. */
  certificateAuthority?: string;
  /** Serving certificate of the proxy. */
  serving: KeyPair;
}

/**
 * An https server in front of an upstream, which forwards requests, and injects the faults of a network, of an overloaded or of a broken
 * server into chosen ones.
 */
export class FaultProxy {
  /** Received requests, with the latest at the end. */
  readonly requests: ProxiedRequest[] = [];
  readonly port: number;
  readonly #target: URL;
  readonly #certificateAuthority: string | undefined;
  readonly #agent: Agent;
  readonly #server: Server;
  readonly #relay: FaultyRelay;
  readonly #open = new Set<Exchange>();
  #rules: Rule[] = [];

  private constructor({ target, certificateAuthority }: FaultProxyOptions, server: Server, relay: FaultyRelay, port: number) {
    this.port = port;
    this.#target = new URL(target);
    this.#certificateAuthority = certificateAuthority;
    this.#agent = this.#isSecure ? new SecureAgent({ keepAlive: true, ca: certificateAuthority }) : new Agent({ keepAlive: true });
    this.#relay = relay;
    this.#server = server.on('request', (incoming, response) => this.#take(incoming, response));
  }

  static async start(options: FaultProxyOptions): Promise<FaultProxy> {
    const { certificate: cert, key } = options.serving;
    const server = createSecureServer({ cert, key, keepAliveTimeout: 90_000 });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const relay = new FaultyRelay((server.address() as AddressInfo).port);
    return new FaultProxy(options, server, relay, await relay.start());
  }

  get url(): string {
    return `https://127.0.0.1:${this.port}`;
  }

  /** Injects a fault into the next matching requests, up to a number. The newest rule applies first. */
  inject(fault: Fault, matches: (request: ProxiedRequest) => boolean = () => true, times = Number.POSITIVE_INFINITY): void {
    this.#rules.unshift({ matches, fault, timesLeft: times });
  }

  /** Resets the connections of the requests that are being answered, e.g. of open watches. */
  cut(matches: (request: ProxiedRequest) => boolean = () => true): void {
    for (const exchange of [...this.#open]) if (matches(exchange.request)) exchange.reset();
  }

  /** Holds the rest of answers in progress, e.g. of open watches. @returns a function that releases them */
  hold(matches: (request: ProxiedRequest) => boolean): () => void {
    const held = [...this.#open].filter(({ request }) => matches(request));
    for (const { response } of held) response.cork();
    return () => {
      for (const { response } of held) response.uncork();
    };
  }

  /** Makes all connections dead silently. New ones are accepted and never answered. */
  blackHole(): void {
    this.#relay.blackHole();
  }

  /** Lets new requests on new connections pass. Swallowed connections stay dead. */
  mend(): void {
    this.#rules = [];
    this.#relay.mend();
  }

  /** Clears the recorded requests. */
  forgetRequests(): void {
    this.requests.length = 0;
  }

  /** Number of open watches, without swallowed ones. */
  get openWatches(): number {
    // A request whose connection has ended before it was read is never told as closed.
    return [...this.#open].filter(({ request, response }) => request.isWatch && response.socket?.destroyed === false).length;
  }

  async stop(): Promise<void> {
    await this.#relay.stop();
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    this.#agent.destroy();
    await closed;
  }

  get #isSecure(): boolean {
    return this.#target.protocol === 'https:';
  }

  #take(incoming: IncomingMessage, response: ServerResponse): void {
    incoming.on('error', () => undefined);
    response.on('error', () => undefined);
    const { pathname, searchParams } = new URL(incoming.url ?? '/', this.#target);
    const { method = 'GET', headers } = incoming;
    const request = { method, path: pathname, query: searchParams, headers, isWatch: searchParams.get('watch') === 'true' };
    this.requests.push(request);
    const exchange: Exchange = {
      request,
      response,
      pass: (take = (answer) => passOn(answer, response)) => this.#pass(incoming, exchange, take),
      reset: () => this.#relay.reset(incoming.socket.remotePort),
    };
    this.#open.add(exchange);
    response.on('close', () => this.#open.delete(exchange));
    const rule = this.#rules.find(({ matches, timesLeft }) => timesLeft > 0 && matches(request));
    if (rule === undefined) exchange.pass();
    else {
      rule.timesLeft -= 1;
      rule.fault(exchange);
    }
  }

  #pass(incoming: IncomingMessage, { response, reset }: Exchange, take: (answer: IncomingMessage) => void): void {
    const send = this.#isSecure ? secureRequest : request;
    const options = { agent: this.#agent, method: incoming.method ?? 'GET', headers: incoming.headers, ca: this.#certificateAuthority };
    const upstream = send(new URL(incoming.url ?? '/', this.#target), options, (answer) => {
      answer.on('error', reset);
      take(answer);
    });
    upstream.on('error', reset);
    response.on('close', () => upstream.destroy());
    incoming.pipe(upstream);
  }
}

function passOn(answer: IncomingMessage, response: ServerResponse, by?: Transform): void {
  response.writeHead(answer.statusCode ?? 502, endToEnd(answer.headers));
  response.flushHeaders();
  (by ? answer.pipe(by) : answer).pipe(response);
}

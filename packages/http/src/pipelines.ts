/** Pipelined requests (RFC 9112, 9.3.2). */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { networkOf, peerAddress } from './client-address.ts';
import { EvictionQueue } from './limits/eviction-queue.ts';

/** A read of a connection brings up to 64 KiB, which is some 2,000 requests; a waiting request takes about 2 KB. */
const waitingBounds = { perNetwork: 10_000, inAll: 20_000 };

/** Between two requests that waited: a service that is busy without a pause loses its turns to other processes of the machine. */
const turnMs = 1;

const pipelineKey = Symbol('pipeline');
type PipelinedSocket = Socket & { [pipelineKey]?: Pipeline };

/**
 * Lets each connection have one request in flight: a later request of the connection is handled after the answer before it is sent. The
 * connection is not read while requests wait. Waiting requests of all connections begin one by one, a millisecond apart, so that other
 * clients are served between them.
 */
export class Pipelines {
  readonly #handle: RequestListener;
  readonly #answerError: (error: NodeJS.ErrnoException, socket: Socket) => void;
  readonly #waiting = new EvictionQueue<WaitingRequest>(waitingBounds, ({ pipeline }) => pipeline.cut());
  /** Pipelines whose next request may begin. */
  readonly #ready: Pipeline[] = [];

  /** @param answerError answers what is no request, and ends the connection */
  constructor(handle: RequestListener, answerError: (error: NodeJS.ErrnoException, socket: Socket) => void) {
    this.#handle = handle;
    this.#answerError = answerError;
  }

  readonly handle = (request: IncomingMessage, response: ServerResponse): void => {
    const pipeline = this.#pipelineOf(request.socket);
    // Node.js gives a response its socket once the responses before it are sent.
    if (response.socket === null) pipeline.wait(request, response);
    else this.#begin(pipeline, request, response);
  };

  /** Answers a parse error or timeout after the earlier requests: inside of another answer the client could not tell it apart. */
  readonly fail = (error: NodeJS.ErrnoException, socket: PipelinedSocket): void => {
    const pipeline = socket[pipelineKey];
    const isLost = error.code === 'ECONNRESET' || !socket.writable;
    if (pipeline === undefined || isLost || pipeline.isIdle || pipeline.isReceiving) this.#answerError(error, socket);
    else pipeline.fail(error);
  };

  /** Returns whether no request of the connection is unanswered. */
  isIdle(socket: PipelinedSocket): boolean {
    return socket[pipelineKey]?.isIdle ?? true;
  }

  #pipelineOf(socket: PipelinedSocket): Pipeline {
    socket[pipelineKey] ??= new Pipeline(socket, this.#waiting, (pipeline) => this.#enqueue(pipeline));
    return socket[pipelineKey];
  }

  #begin(pipeline: Pipeline, request: IncomingMessage, response: ServerResponse): void {
    pipeline.current = response;
    this.#handle(request, response);
  }

  #enqueue(pipeline: Pipeline): void {
    if (this.#ready.push(pipeline) === 1) setTimeout(this.#beginNext, turnMs);
  }

  readonly #beginNext = (): void => {
    const pipeline = this.#ready.shift();
    if (this.#ready.length > 0) setTimeout(this.#beginNext, turnMs);
    const next = pipeline?.next();
    if (pipeline === undefined || next === undefined) return;
    if (next instanceof WaitingRequest) this.#begin(pipeline, next.request, next.response);
    else this.#answerError(next, pipeline.socket);
  };
}

/** The requests of a connection. */
class Pipeline {
  readonly socket: Socket;
  readonly network: string;
  /** The response to the request in flight, or to the last one. */
  current: ServerResponse | undefined;
  readonly #waiting: WaitingRequest[] = [];
  readonly #queue: EvictionQueue<WaitingRequest>;
  readonly #onReady: () => void;
  #failure: NodeJS.ErrnoException | undefined;

  constructor(socket: Socket, queue: EvictionQueue<WaitingRequest>, onReady: (pipeline: Pipeline) => void) {
    this.socket = socket;
    this.network = networkOf(peerAddress(socket));
    this.#queue = queue;
    this.#onReady = () => onReady(this);
  }

  get isIdle(): boolean {
    return this.current?.closed !== false && this.#waiting.length === 0;
  }

  /** True while the request in flight has neither arrived completely nor been answered. */
  get isReceiving(): boolean {
    return this.current !== undefined && !this.current.req.complete && !this.current.headersSent;
  }

  wait(request: IncomingMessage, response: ServerResponse): void {
    this.#hold();
    const waiting = new WaitingRequest(this, request, response);
    this.#waiting.push(waiting);
    this.#queue.add(waiting);
  }

  fail(error: NodeJS.ErrnoException): void {
    // The client cannot send the rest of a request while the connection is not read.
    if (this.#failure !== undefined || (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && this.#waiting.length > 0)) return;
    this.#hold();
    this.#failure = error;
  }

  /** Returns what is to be answered now. */
  next(): WaitingRequest | NodeJS.ErrnoException | undefined {
    // An answer with `Connection: close` is the last one.
    if (!this.socket.writable) {
      this.#drop();
      return undefined;
    }
    const next = this.#waiting.shift();
    if (next === undefined) return this.#failure;
    this.#queue.remove(next);
    if (this.#isHeld) next.response.once('close', this.#onReady);
    else this.#release();
    return next;
  }

  cut(): void {
    this.#drop();
    this.socket.destroy();
  }

  get #isHeld(): boolean {
    return this.#waiting.length > 0 || this.#failure !== undefined;
  }

  #hold(): void {
    if (this.#isHeld) return;
    this.current?.once('close', this.#onReady);
    this.socket.on('resume', this.#pause).once('close', this.#drop).pause();
  }

  #release(): void {
    this.socket.off('resume', this.#pause).off('close', this.#drop).resume();
  }

  /** Node.js resumes the socket at the end of each message. */
  readonly #pause = (): void => {
    this.socket.pause();
  };

  readonly #drop = (): void => {
    for (const waiting of this.#waiting.splice(0)) this.#queue.remove(waiting);
  };
}

class WaitingRequest {
  readonly pipeline: Pipeline;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;

  constructor(pipeline: Pipeline, request: IncomingMessage, response: ServerResponse) {
    this.pipeline = pipeline;
    this.request = request;
    this.response = response;
  }

  get network(): string {
    return this.pipeline.network;
  }
}

import { Readable } from 'node:stream';
import { notReady, type StatusError, timedOut } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import { hasBody } from './body.ts';

/** Kinds of requests, as `middleware/admission.ts` counts them. */
export type Kind = 'receiving' | 'short' | 'unread' | 'long';

/** Deadline and end of one request, from its first byte to the end of its answer. */
export class RequestLifetime {
  readonly #ctx: Context;
  #timeoutMs: number;
  #endsAt: number;
  #timer: NodeJS.Timeout;
  /** Most answers await no call, and need no controller. */
  #controller: AbortController | undefined;
  #end: { reason: unknown } | undefined;
  readonly #onClose: (() => void)[] = [];
  #leaveWork: (reason: unknown) => void = () => undefined;
  kind: Kind;
  /** True once the response is closed. */
  isClosed = false;
  /** Gives the place of the request back (`middleware/admission.ts`); undefined while it has none. */
  place: (() => void) | undefined;
  /** Waits for a place again once the body has arrived. Ends the request if its flow has none. @throws StatusError 429 */
  retakePlace: () => Promise<void> = async () => undefined;
  /** True for an operation with a deadline of its own. */
  isSlow = false;
  /** True if the caller went away before the answer was out: there is no answer to send, and no failure to log. */
  isAbandoned = false;

  constructor(ctx: Context, timeoutMs: number) {
    this.#ctx = ctx;
    this.#timeoutMs = timeoutMs;
    this.#endsAt = performance.now() + timeoutMs;
    this.#timer = this.#startTimer();
    this.kind = hasBody(ctx.req) ? 'receiving' : 'short';
    ctx.res.once('close', () => this.#close());
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#end) this.#controller.abort(this.#end.reason);
    }
    return this.#controller.signal;
  }

  /** Why the request was called off; undefined if it was not. */
  get endReason(): unknown {
    return this.#end?.reason;
  }

  /** Milliseconds until the deadline. */
  get leftMs(): number {
    return this.#endsAt - performance.now();
  }

  abort(reason: StatusError | Error): void {
    if (this.#end) return;
    this.#end = { reason };
    this.#controller?.abort(reason);
    this.#leaveWork(reason);
  }

  /**
   * Waits for the work until the deadline of the request, or until its caller goes away. Work that ignores its signal is left behind.
   *
   * @throws StatusError 504, the reason of the abort, or what the work throws
   */
  limit(work: () => Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#leaveWork = reject;
      work().then(resolve, reject);
    });
  }

  /** Gives the place of the request back, if it has one. */
  leavePlace(): void {
    const leave = this.place;
    this.place = undefined;
    leave?.();
  }

  becomeLong(): void {
    clearTimeout(this.#timer);
  }

  becomeSlow(timeoutMs: number): void {
    clearTimeout(this.#timer);
    this.isSlow = true;
    this.#timeoutMs = timeoutMs;
    this.#endsAt = performance.now() + timeoutMs;
    this.#timer = this.#startTimer();
  }

  /** Ends an answer under way as a complete one; an answer that has not begun becomes 503. */
  endAnswer(): void {
    const { body, res } = this.#ctx;
    // An answer that went on in another protocol ends by the signal.
    if (!res.headersSent || res.writableEnded) {
      this.abort(notReady([{ reason: 'shutdown', message: 'stopping' }]));
      return;
    }
    if (body instanceof Readable) body.unpipe(res);
    res.end();
  }

  /**
   * Calls back once the response is closed, at once if it is closed already: a caller may leave while its credential is checked. All share
   * one listener, because Node.js warns of eleven.
   */
  onClose(callback: () => void): void {
    if (this.isClosed) callback();
    else this.#onClose.push(callback);
  }

  /** Stops all work for the request: the answer is out, or the caller is gone. */
  #close(): void {
    this.isClosed = true;
    for (const callback of this.#onClose) callback();
    clearTimeout(this.#timer);
    if (this.#ctx.res.writableFinished) return;
    this.isAbandoned = this.#end === undefined;
    this.abort(new Error('the caller went away'));
  }

  #startTimer(): NodeJS.Timeout {
    return setTimeout(() => this.#expire(), this.#timeoutMs).unref();
  }

  /** The reader gets as much time again to take the answer: the bytes that wait for it are memory of all callers. */
  #expire(): void {
    this.#timer = setTimeout(() => this.#ctx.req.socket.destroy(), this.#timeoutMs).unref();
    this.abort(timedOut('the request'));
  }
}

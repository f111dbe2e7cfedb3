import { Readable } from 'node:stream';
import type { Context } from 'koa';
import { notReady, type StatusError, timedOut } from '../api/status.ts';
import { hasBody } from './body.ts';

/** A body that has not arrived, an answer that is being made, one that only waits for its reader, and one that may outlive the deadline. */
export type Kind = 'receiving' | 'short' | 'unread' | 'long';

/** One request from its first byte to the end of its answer: when it must stop, and why. */
export class RequestLifetime {
  readonly #ctx: Context;
  #timeoutMs: number;
  #endsAt: number;
  /** Made for the first who asks: most answers wait for nothing that could be called off. */
  #controller: AbortController | undefined;
  #end: { reason: unknown } | undefined;
  #timer: NodeJS.Timeout;
  /** Told at the deadline, so that a handler that does not look at its signal is left behind too. */
  onCut: (reason: unknown) => void = () => undefined;
  /** Called when the response is closed. */
  onEnd: () => void = () => undefined;
  kind: Kind;
  /** Whether it may take longer than others. */
  isSlow = false;
  /** Whether the caller went away before the answer was out: there is no answer to send, and no failure to log. */
  isAbandoned = false;

  constructor(ctx: Context, timeoutMs: number) {
    this.#ctx = ctx;
    this.kind = hasBody(ctx.req) ? 'receiving' : 'short';
    this.#timeoutMs = timeoutMs;
    this.#endsAt = performance.now() + timeoutMs;
    this.#timer = this.#startTimer();
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#end) this.#controller.abort(this.#end.reason);
    }
    return this.#controller.signal;
  }

  /** Why it was called off; undefined if it was not. */
  get cutBy(): unknown {
    return this.#end?.reason;
  }

  /** Until the deadline, in milliseconds. */
  get leftMs(): number {
    return this.#endsAt - performance.now();
  }

  abort(reason: StatusError | Error): void {
    if (this.#end) return;
    this.#end = { reason };
    this.#controller?.abort(reason);
    this.onCut(reason);
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

  /** An answer under way ends as if nothing more had come, not as one that was cut. */
  endAnswer(): void {
    const { body, res } = this.#ctx;
    // Of an answer that is out, what goes on in another protocol ends by the signal.
    if (!res.headersSent || res.writableEnded) {
      this.abort(notReady([{ reason: 'shutdown', message: 'stopping' }]));
      return;
    }
    if (body instanceof Readable) body.unpipe(res);
    res.end();
  }

  /** The answer is out, or the caller is gone: whatever still runs for it stops. */
  end(): void {
    clearTimeout(this.#timer);
    this.onEnd();
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

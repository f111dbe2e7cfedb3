import { Readable } from 'node:stream';
import type { Context } from 'koa';
import { notReady, type StatusError, timedOut } from '../api/status.ts';
import { hasBody } from './body.ts';

/** A reader this much slower than the request's deadline is cut off; what it holds back is memory of all callers. */
const slowReaderFactor = 2;

/** A body that has not come yet, an answer being made, and one that may outlive the deadline. */
export type Kind = 'receiving' | 'short' | 'long';

/** One request from its first byte to the end of its answer: when it must stop, and why. */
export class RequestLifetime {
  readonly #controller = new AbortController();
  readonly #ctx: Context;
  #deadline: NodeJS.Timeout | undefined;
  #slowReader: NodeJS.Timeout | undefined;
  #endsAt = Number.POSITIVE_INFINITY;
  /** Rejects at the deadline, so that a handler that does not look at its signal is left behind too. */
  readonly cut: Promise<never>;
  kind: Kind;
  /** Whether it may take longer than others. */
  isSlow = false;
  /** Whether the caller went away before the answer was out: there is no answer to send, and no failure to log. */
  isAbandoned = false;

  constructor(ctx: Context, timeoutMs: number) {
    this.#ctx = ctx;
    this.kind = hasBody(ctx.req) ? 'receiving' : 'short';
    this.cut = new Promise((_resolve, reject) => this.signal.addEventListener('abort', () => reject(this.signal.reason), { once: true }));
    this.cut.catch(() => undefined);
    this.#endAfter(timeoutMs);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Until the deadline, in milliseconds. */
  get leftMs(): number {
    return this.#endsAt - performance.now();
  }

  abort(reason: StatusError): void {
    this.#controller.abort(reason);
  }

  becomeLong(): void {
    this.#clearTimers();
  }

  becomeSlow(timeoutMs: number): void {
    this.isSlow = true;
    this.#clearTimers();
    this.#endAfter(timeoutMs);
  }

  /** An answer under way ends as if nothing more had come, not as one that was cut. */
  endAnswer(): void {
    const { body, res } = this.#ctx;
    // Of an answer that is out, what goes on in another protocol ends by the signal.
    if (!res.headersSent || res.writableEnded) {
      this.#controller.abort(notReady([{ reason: 'shutdown', message: 'stopping' }]));
      return;
    }
    if (body instanceof Readable) body.unpipe(res);
    res.end();
  }

  /** The answer is out, or the caller is gone: whatever still runs for it stops. */
  end(): void {
    this.#clearTimers();
    if (this.#ctx.res.writableFinished) return;
    this.isAbandoned = !this.signal.aborted;
    this.#controller.abort(new Error('the caller went away'));
  }

  #endAfter(timeoutMs: number): void {
    this.#endsAt = performance.now() + timeoutMs;
    this.#deadline = setTimeout(() => this.#controller.abort(timedOut('the request')), timeoutMs);
    this.#slowReader = setTimeout(() => this.#ctx.req.socket.destroy(), timeoutMs * slowReaderFactor);
  }

  #clearTimers(): void {
    clearTimeout(this.#deadline);
    clearTimeout(this.#slowReader);
  }
}

import { Readable } from 'node:stream';
import type { Context } from 'koa';
import { notReady, type StatusError, timedOut } from '../api/status.ts';
import { hasBody } from './body.ts';
import { Deadlines, type Due } from './shared-timer.ts';

/** A reader this much slower than the request's deadline is cut off; what it holds back is memory of all callers. */
const slowReaderFactor = 2;

const deadlines = new Deadlines();

/** A body that has not arrived, an answer that is being made, one that only waits for its reader, and one that may outlive the deadline. */
export type Kind = 'receiving' | 'short' | 'unread' | 'long';

/** One request from its first byte to the end of its answer: when it must stop, and why. */
export class RequestLifetime implements Due {
  readonly #ctx: Context;
  #timeoutMs: number;
  #endsAt: number;
  /** Made for the first who asks: most answers wait for nothing that could be called off. */
  #controller: AbortController | undefined;
  #end: { reason: unknown } | undefined;
  /** Whether the answer should have been there. */
  #isLate = false;
  /** Told at the deadline, so that a handler that does not look at its signal is left behind too. */
  onCut: (reason: unknown) => void = () => undefined;
  /** Called when the response is closed. */
  onEnd: () => void = () => undefined;
  kind: Kind;
  step: Set<Due> | undefined;
  /** Whether it may take longer than others. */
  isSlow = false;
  /** Whether the caller went away before the answer was out: there is no answer to send, and no failure to log. */
  isAbandoned = false;

  constructor(ctx: Context, timeoutMs: number) {
    this.#ctx = ctx;
    this.kind = hasBody(ctx.req) ? 'receiving' : 'short';
    this.#timeoutMs = timeoutMs;
    this.#endsAt = performance.now() + timeoutMs;
    deadlines.set(this, timeoutMs);
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
    deadlines.clear(this);
  }

  becomeSlow(timeoutMs: number): void {
    this.isSlow = true;
    this.#timeoutMs = timeoutMs;
    this.#endsAt = performance.now() + timeoutMs;
    deadlines.set(this, timeoutMs);
  }

  /** First the answer has to be there, then the reader has to have taken it. */
  due(): void {
    if (this.#isLate) {
      this.#ctx.req.socket.destroy();
      return;
    }
    this.#isLate = true;
    deadlines.set(this, this.#timeoutMs * (slowReaderFactor - 1));
    this.abort(timedOut('the request'));
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
    deadlines.clear(this);
    this.onEnd();
    if (this.#ctx.res.writableFinished) return;
    this.isAbandoned = this.#end === undefined;
    this.abort(new Error('the caller went away'));
  }
}

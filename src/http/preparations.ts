/** What an operation may ask for before its own work, in `before`: a need of several operations is a function here, and no flag of theirs. */
import type { Context } from 'koa';
import type { Preparation } from './operation.ts';
import { stateOf } from './request-state.ts';

/**
 * JSON, scripts and style sheets over 1 KB go out compressed. Never where a credential can be in the answer: its length would tell of it what a caller guesses
 * beside it. Nor where `If-Match` takes the ETag, which names one encoding.
 */
export const compressed: Preparation = (ctx) => {
  stateOf(ctx).isCompressed = true;
};

/** The same for some requests of an operation. */
export const compressedIf =
  (isFit: (ctx: Context) => boolean): Preparation =>
  (ctx, bounds) => {
    if (isFit(ctx)) compressed(ctx, bounds);
  };

/** A request for which it is true may outlive the request deadline (a watch). Once its caller is known it counts as one of the caller's. */
export const lasting =
  (isLong: (ctx: Context) => boolean): Preparation =>
  (ctx) => {
    if (isLong(ctx)) stateOf(ctx).isLasting = true;
  };

/** More milliseconds than `server.requestTimeout`. */
export const taking =
  (timeoutMs: number): Preparation =>
  (ctx, bounds) =>
    bounds.onSlow(ctx, timeoutMs);

/** Headers of every answer, whether the operation or what stands before it gives it. */
export const answeringWith =
  (headers: Readonly<Record<string, string>>): Preparation =>
  (ctx) =>
    ctx.set(headers);

/** Functions for `before` of an operation: they run before its credential is read. */
import type { Context } from 'koa';
import type { Preparation } from './operation.ts';

/**
 * Compresses JSON, scripts and style sheets over 1 KB. Never used for an answer that may hold a credential, because its length would
 * confirm guesses (BREACH), or whose ETag is used in `If-Match`, because the ETag names one encoding.
 */
export const compressed: Preparation = (ctx) => {
  ctx.state.isCompressed = true;
};

/** Lets selected requests outlive the deadline, such as watches. They count in the bound of their caller. */
export const longRunning =
  (isLong: (ctx: Context) => boolean): Preparation =>
  (ctx) => {
    if (isLong(ctx)) ctx.state.isLasting = true;
  };

/** Gives requests a deadline above `server.requestTimeout`, in milliseconds. */
export const withTimeout =
  (timeoutMs: number): Preparation =>
  (ctx, bounds) =>
    bounds.onSlow(ctx, timeoutMs);

/** Sets headers on every answer of an operation, refusals included. */
export const withHeaders =
  (headers: Readonly<Record<string, string>>): Preparation =>
  (ctx) =>
    ctx.set(headers);

/** Lists that show some rows to callers without the right on all of them, such as their own. */
import type { Caller } from '@atrium/http/caller.ts';
import type { AccessReviews, ResourceAccess } from '@atrium/kubernetes/access.ts';
import type { Context } from 'koa';
import type { Lister } from './lister.ts';
import type { LiveRow } from './live-list.ts';
import { isLive, type LiveLists, type LiveParameters, visibilityChanged } from './live-list-answer.ts';
import { sendPage } from './page.ts';
import type { Scope } from './query.ts';
import type { ListParameters } from './schema.ts';
import { type RightCheck, rightCheck } from './while-allowed.ts';

/** Rows that a request lists. */
export interface VisibleRows<Row> {
  /** Right that shows the rows, which the caller has. Undefined for rows that the caller sees without a right. */
  right?: ResourceAccess;
  /** Returns the part of the rows that the caller sees now. Undefined for all rows. */
  scope?: () => Scope<Row>;
  /** Returns the JSON that the caller may see of a row. Undefined for the whole text. */
  textOf?: ((row: { readonly name: string; readonly text: string }) => string) | undefined;
}

/**
 * Selects the rows of a request, for its `user` and other parameters.
 *
 * @throws StatusError 400, 403, 503, 504
 */
export type SelectVisible<Row> = (
  query: ListParameters,
  request: { caller: Caller; verb: 'list' | 'watch'; signal: AbortSignal },
) => Promise<VisibleRows<Row>>;

/**
 * Returns an object as the caller may see it.
 *
 * @throws StatusError 404 whether or not a hidden object exists, 503, 504
 */
export type FindVisible = (name: string, request: { caller: Caller; signal: AbortSignal }) => Promise<{ readonly text: string }>;

interface VisibleList<Row extends LiveRow> {
  access: AccessReviews;
  lister: Lister<Row>;
  /** Undefined if the list is not followed. */
  live: LiveLists<Row> | undefined;
  select: SelectVisible<Row>;
}

interface Request {
  ctx: Context;
  caller: Caller;
  query: LiveParameters;
  readonly signal: AbortSignal;
}

/** Answers with a page of the rows that the caller sees, or with their changes. @throws StatusError 400, 403, 410, 503, 504 */
export async function answerVisible<Row extends LiveRow>(
  { access, lister, live, select }: VisibleList<Row>,
  { ctx, caller, query, signal }: Request,
): Promise<void> {
  if (!live || !isLive(ctx)) {
    const { scope, textOf } = await select(query, { caller, verb: 'list', signal });
    const page = await lister.list(query, signal, scope?.());
    return sendPage(ctx, textOf ? page.withTexts(textOf) : page);
  }
  const { right, scope, textOf } = await select(query, { caller, verb: 'watch', signal });
  const part = scope && partOf(ctx, scope);
  const check: RightCheck = async (bearer, checked) => {
    if (right !== undefined) await rightCheck(access, right, caller.identity.name)(bearer, checked);
    part?.check();
  };
  return live.answer(ctx, query, { caller, check, scope: part?.scope, textOf, signal });
}

/**
 * Returns the rows that the caller sees now, and a check that ends the list once these are others: no event names rows that the caller
 * sees because of a change of another object.
 *
 * @throws StatusError 410 for a client that reconnects, because the rows may have become others meanwhile
 */
function partOf<Row>(ctx: Context, scopeNow: () => Scope<Row>): { scope: Scope<Row>; check(): void } {
  if (/^\d+$/.test(ctx.get('Last-Event-ID'))) throw visibilityChanged();
  const { key } = scopeNow();
  let kept: Scope<Row> | undefined;
  // Rows of one turn of the event loop share a scope, because it may compare the caller with many objects.
  const scopeOfTurn = () => {
    if (kept === undefined)
      setImmediate(() => {
        kept = undefined;
      });
    kept ??= scopeNow();
    return kept;
  };
  return {
    scope: { key, fits: (row) => scopeOfTurn().fits?.(row) !== false },
    check() {
      if (scopeNow().key !== key) throw visibilityChanged();
    },
  };
}

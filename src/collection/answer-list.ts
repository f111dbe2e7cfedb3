import type { Context } from 'koa';
import type { Caller } from '../http/operation.ts';
import type { AccessReviews, ResourceAccess } from '../kubernetes/access.ts';
import type { Lister } from './lister.ts';
import { sendPage } from './page.ts';
import type { ListRow } from './properties.ts';
import type { ListParameters } from './schema.ts';

/** A request as the handler of its operation receives it. The getter `signal` creates its signal on first use. */
interface ListRequest {
  ctx: Context;
  caller: Caller;
  query: ListParameters;
  readonly signal: AbortSignal;
}

interface ListAnswer<Row extends ListRow> {
  access: AccessReviews;
  /** Permission that the caller needs. Frozen, so that its text is made once. */
  right: Readonly<ResourceAccess>;
  lister: Lister<Row>;
}

/** Answers with a list of all objects to callers who may list them, synchronously if the access decision and the page are cached. */
export function answerList<Row extends ListRow>(list: ListAnswer<Row>, request: ListRequest): Promise<void> | void {
  const { ctx, caller, query } = request;
  const page = list.access.isKept(caller, list.right) ? list.lister.kept(query) : undefined;
  return page === undefined ? answerMade(list, request) : sendPage(ctx, page);
}

async function answerMade<Row extends ListRow>(
  { access, right, lister }: ListAnswer<Row>,
  { ctx, caller, query, signal }: ListRequest,
): Promise<void> {
  await access.require(caller, right, signal);
  sendPage(ctx, await lister.list(query, signal));
}

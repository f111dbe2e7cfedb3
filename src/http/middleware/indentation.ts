import type { Middleware } from 'koa';
import { indentJson } from '../../api/json.ts';

/** Indents JSON answers for callers that send `pretty=true`. */
export const indentation: Middleware = async (ctx, next) => {
  await next();
  indentJson(ctx);
};

import type { Middleware } from 'koa';
import { indentJson } from '../../api/json.ts';
import { chooseEncoding, compress } from '../compression.ts';
import { isNotModified } from '../conditional.ts';

/**
 * Sends an answer in the form that its caller asks for: indented for `pretty=true`, compressed where the operation allows it, without a
 * body (304) for a caller that has it. A 304 needs only the ETag of the encoding.
 */
export const representation: Middleware = async (ctx, next) => {
  await next();
  indentJson(ctx);
  const encoding = ctx.state.isCompressed && chooseEncoding(ctx);
  if (isNotModified(ctx)) ctx.status = 304;
  else if (encoding) await compress(ctx, encoding);
};

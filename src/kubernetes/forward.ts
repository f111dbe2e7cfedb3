import type { Context } from 'koa';
import { gathered } from './gathered.ts';
import type { StreamCall, UpstreamResponse } from './transport.ts';

/** A read to be answered by the API server itself. */
export interface ForwardCall {
  /** Label of the metrics. */
  call: string;
  /** As `resourcePath` builds it. */
  path: string;
  /** The query as it came (`ctx.querystring`): it goes along byte for byte. */
  query: string;
  signal: AbortSignal;
  /** For a watch, which lasts as long as both sides want. */
  isLong?: boolean;
}

/** Not Cache-Control: ours is stricter. Nothing else is for the caller. */
const passedOn = ['Content-Type', 'Content-Encoding', 'ETag', 'Warning', 'Audit-Id', 'Retry-After'];

/** Of the request only Accept goes along; without Accept-Encoding the bytes come as they are. */
export async function forward(ctx: Context, call: ForwardCall, open: (call: StreamCall) => Promise<UpstreamResponse>): Promise<void> {
  const { isLong = false, ...rest } = call;
  const accept = ctx.get('Accept');
  const { statusCode, headers, body } = await open({ ...rest, method: 'GET', isLong, ...(accept && { accept }) });
  // Of a HEAD, the API server is asked for the whole answer, of which only the headers are needed.
  const content = isLong || ctx.method === 'HEAD' ? body : await gathered(body, call.signal);
  ctx.status = statusCode;
  for (const name of passedOn) {
    const value = headers[name.toLowerCase()];
    if (value !== undefined) ctx.set(name, value);
  }
  ctx.body = content;
  // A watch may have nothing to say for a long time, and its headers would wait for the first event.
  if (isLong) ctx.flushHeaders();
}

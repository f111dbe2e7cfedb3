import type { Context } from 'koa';
import { isJson, withErrorEvent } from './ended-watch.ts';
import { gathered } from './gathered.ts';
import type { StreamCall, UpstreamResponse } from './transport.ts';

/** A read that the API server answers itself. */
export interface ForwardCall {
  /** Label in the metrics. */
  call: string;
  /** Path, built by `resourcePath`. */
  path: string;
  /** Raw query (`ctx.querystring`), which is sent byte for byte. */
  query: string;
  signal: AbortSignal;
  /** Set for a watch, which has no deadline. */
  isLong?: boolean;
}

/** Headers of the answer that callers receive. Cache-Control is missing, because that of the service is stricter. */
const passedOn = ['Content-Type', 'Content-Encoding', 'ETag', 'Warning', 'Audit-Id', 'Retry-After'];

/**
 * Answers with the answer of the API server. Accept is the only header that is forwarded; without Accept-Encoding the answer is not
 * compressed.
 */
export async function forward(ctx: Context, call: ForwardCall, open: (call: StreamCall) => Promise<UpstreamResponse>): Promise<void> {
  const { isLong = false, ...rest } = call;
  const accept = ctx.get('Accept');
  const { statusCode, headers, body } = await open({ ...rest, method: 'GET', isLong, ...(accept && { accept }) });
  // HEAD is sent as GET, and only the headers of the answer are used.
  const content = ctx.method === 'HEAD' ? body : isLong ? watchBody(headers, body, call.signal) : await gathered(body, call.signal);
  ctx.status = statusCode;
  for (const name of passedOn) {
    const value = headers[name.toLowerCase()];
    if (value !== undefined) ctx.set(name, value);
  }
  ctx.body = content;
  // Headers are sent at once, because the first event of a watch may take long.
  if (isLong) ctx.flushHeaders();
}

const watchBody = (headers: UpstreamResponse['headers'], body: UpstreamResponse['body'], signal: AbortSignal) =>
  isJson(headers) ? withErrorEvent(body, signal) : body;

/** The parts of an API server answer that callers get (docs/contract/kubernetes.md). */
import type { Readable } from 'node:stream';
import { closeOnUnreadBody } from '@atrium/http/body.ts';
import type { PassedAnswer } from '@atrium/kubernetes/caller-passage.ts';
import { serviceUnavailable } from '@atrium/objects/status.ts';
import type { Context } from 'koa';

type Headers = PassedAnswer['headers'];

const passedBack = [
  'Content-Encoding',
  'Content-Range',
  'ETag',
  'Last-Modified',
  'Warning',
  'Audit-Id',
  'Retry-After',
  'Link',
  'Deprecation',
  'X-Stream-Protocol-Version',
  'X-Accepted-Stream-Protocol-Versions',
];

const ofWebSocket = ['Sec-WebSocket-Accept', 'Sec-WebSocket-Protocol', 'Sec-WebSocket-Extensions', 'Sec-WebSocket-Version'];

const plainValue = /^[\t\x20-\x7e]{1,16384}$/;

/** Returns a header that can be passed on unchanged; undefined otherwise. */
function plain(headers: Headers, name: string): string | undefined {
  const value = headers[name.toLowerCase()];
  const text = Array.isArray(value) ? value.join(', ') : value;
  return text !== undefined && plainValue.test(text) ? text : undefined;
}

function pick(headers: Headers, names: readonly string[]): Record<string, string> {
  const picked: Record<string, string> = {};
  for (const name of names) {
    const value = plain(headers, name);
    if (value !== undefined) picked[name] = value;
  }
  return picked;
}

/** Headers of every answer, also of errors: opened as a page, it runs and loads nothing, and pages of other sites cannot read it. */
export const safeHeaders = {
  'Content-Security-Policy': "default-src 'none'; sandbox; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
};

export const switchedHeaders = (headers: Headers): Record<string, string> =>
  pick(headers, [...ofWebSocket, 'X-Stream-Protocol-Version', 'X-Accepted-Stream-Protocol-Versions']);

/**
 * Answers with the API server's answer.
 *
 * @param own prefix of the service before the path of the API server
 * @param content the body, unless it is streamed
 * @throws StatusError 503 for a status that no API server sends
 */
export function answerWith(ctx: Context, answer: PassedAnswer, own: string, content: Readable | Buffer = answer.body): void {
  const { statusCode, headers, body } = answer;
  // 407 requests credentials for a proxy, which would be this service.
  if (statusCode < 200 || statusCode > 599 || statusCode === 407) {
    body.destroy();
    throw serviceUnavailable('kubernetes', { cause: new Error(`the API server answered ${statusCode}`) });
  }
  ctx.status = statusCode;
  ctx.set({ ...pick(headers, passedBack), 'Cache-Control': cacheControl(statusCode, headers) });
  ctx.vary('Accept');
  if (statusCode === 401) ctx.set('WWW-Authenticate', 'Bearer realm="atrium", error="invalid_token"');
  const location = plain(headers, 'Location');
  if (location !== undefined && /^\/(?![/\\])/.test(location)) ctx.set('Location', `${own}${location}`);
  closeOnUnreadBody(ctx);
  const hasNoBody = ctx.method === 'HEAD' || [204, 205, 304].includes(statusCode);
  if (!hasNoBody || ctx.method === 'HEAD') ctx.set(contentHeaders(headers));
  if (hasNoBody) discard(ctx, body);
  else ctx.body = content;
  const length = plain(headers, 'Content-Length');
  if (length !== undefined && /^\d{1,15}$/.test(length) && (!hasNoBody || ctx.method === 'HEAD')) ctx.set('Content-Length', length);
}

function discard(ctx: Context, body: PassedAnswer['body']): void {
  body.resume();
  const { status } = ctx;
  const type = ctx.response.get('Content-Type');
  ctx.body = null;
  ctx.status = status;
  if (ctx.method === 'HEAD' && type) ctx.set('Content-Type', type);
}

/** Lets browsers store answers privately, and revalidate them where an ETag allows it. */
function cacheControl(statusCode: number, headers: Headers): string {
  if (statusCode !== 304 && (statusCode < 200 || statusCode > 299)) return 'no-store';
  if (/(?:^|[\s,])immutable(?:$|[\s,])/i.test(String(headers['cache-control'] ?? ''))) return 'private, max-age=31536000, immutable';
  return headers.etag === undefined ? 'no-store' : 'private, no-cache';
}

/** Types that browsers display or pass to scripts, and never run. */
const inertTypes =
  /^(?:application\/(?:json|(?:[\w.-]+\+)json|yaml|(?:[\w.-]+\+)yaml|x-yaml|cbor|cbor-seq|vnd\.kubernetes\.protobuf|com\.github\.proto-openapi\.[\w.@+-]+)|text\/(?:plain|yaml|x-yaml))$/i;

function contentHeaders(headers: Headers): Record<string, string> {
  const type = plain(headers, 'Content-Type');
  if (type !== undefined && inertTypes.test(type.split(';')[0]?.trim() ?? '')) return { 'Content-Type': type };
  return { 'Content-Type': 'application/octet-stream', 'Content-Disposition': 'attachment' };
}

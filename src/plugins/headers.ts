import type { IncomingHttpHeaders } from 'node:http';

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** What a header can say without being taken apart, or refused, on its way. */
const plainValue = /^[\t\x20-\x7e]{1,4096}$/;

/** One header to be passed on, or nothing if it is not there, or is no plain text. */
export function plainHeader(headers: Headers, name: string): Record<string, string> {
  const value = headers[name.toLowerCase()];
  const text = Array.isArray(value) ? value.join(', ') : value;
  return text !== undefined && plainValue.test(text) ? { [name]: text } : {};
}

export function announcedLength(headers: Headers): number | undefined {
  const value = headers['content-length'];
  return typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : undefined;
}

/** What a Service may learn of a request. Neither who asks nor from where: no cookie, no credential, no address. */
const passedToService = [
  'accept',
  'accept-encoding',
  'accept-language',
  'content-encoding',
  'content-type',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'last-event-id',
  'prefer',
  'range',
  'traceparent',
  'tracestate',
];

/** The headers of a request that go along. What its `Connection` names is for us (RFC 9110, 7.6.1). */
export function headersToService(headers: IncomingHttpHeaders): Record<string, string> {
  const nominated = new Set((headers.connection ?? '').toLowerCase().split(/[\s,]+/));
  return Object.assign({}, ...passedToService.filter((name) => !nominated.has(name)).map((name) => plainHeader(headers, name)));
}

/**
 * What a page may learn of an answer. Nothing that would count for all of the console: no cookie, no policy, no redirect, no
 * authentication scheme, nothing for browsers to keep.
 */
const passedToPage = [
  'Accept-Ranges',
  'Allow',
  'Content-Disposition',
  'Content-Encoding',
  'Content-Language',
  'Content-Range',
  'Content-Type',
  'ETag',
  'Last-Modified',
  'Retry-After',
  'Warning',
];

export function headersToPage(headers: Headers): Record<string, string> {
  const nominated = new Set(
    String(headers.connection ?? '')
      .toLowerCase()
      .split(/[\s,]+/),
  );
  return Object.assign({}, ...passedToPage.filter((name) => !nominated.has(name.toLowerCase())).map((name) => plainHeader(headers, name)), {
    'Cache-Control': cacheControl(headers),
  });
}

/** What came with a credential is for its holder alone, and kept only where the Service says that it may be, or can be asked again. */
function cacheControl(headers: Headers): string {
  const wish = String(headers['cache-control'] ?? '').toLowerCase();
  const maxAge = /(?:^|[\s,])max-age=(\d{1,8})(?:$|[\s,])/.exec(wish)?.[1];
  if (wish.includes('no-store')) return 'no-store';
  if (maxAge !== undefined && !wish.includes('no-cache')) return `private, max-age=${maxAge}`;
  return wish.includes('no-cache') || headers.etag !== undefined ? 'private, no-cache' : 'no-store';
}

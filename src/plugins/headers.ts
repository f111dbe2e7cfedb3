import type { IncomingHttpHeaders } from 'node:http';

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Header values that proxies pass on unchanged. */
const plainValue = /^[\t\x20-\x7e]{1,4096}$/;

/** Returns the header to pass on; empty if it is missing or is not plain text. */
export function plainHeader(headers: Headers, name: string): Record<string, string> {
  const value = headers[name.toLowerCase()];
  const text = Array.isArray(value) ? value.join(', ') : value;
  return text !== undefined && plainValue.test(text) ? { [name]: text } : {};
}

export function announcedLength(headers: Headers): number | undefined {
  const value = headers['content-length'];
  return typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : undefined;
}

/** Request headers for Services. None identifies the caller or its origin: no cookie, no credential, no address. */
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
];

/** Returns the headers to pass on. Headers that `Connection` names are for this hop only (RFC 9110, 7.6.1). */
export function headersToService(headers: IncomingHttpHeaders): Record<string, string> {
  const nominated = new Set((headers.connection ?? '').toLowerCase().split(/[\s,]+/));
  return Object.assign({}, ...passedToService.filter((name) => !nominated.has(name)).map((name) => plainHeader(headers, name)));
}

/**
 * Answer headers for pages. None affects the whole console: no cookie, no policy, no redirect, no authentication scheme, no site-wide
 * browser data.
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

/** Makes answers private, because they belong to a credential. Browsers store them if the Service allows it or they can be revalidated. */
function cacheControl(headers: Headers): string {
  const wish = String(headers['cache-control'] ?? '').toLowerCase();
  const maxAge = /(?:^|[\s,])max-age=(\d{1,8})(?:$|[\s,])/.exec(wish)?.[1];
  if (wish.includes('no-store')) return 'no-store';
  if (maxAge !== undefined && !wish.includes('no-cache')) return `private, max-age=${maxAge}`;
  return wish.includes('no-cache') || headers.etag !== undefined ? 'private, no-cache' : 'no-store';
}

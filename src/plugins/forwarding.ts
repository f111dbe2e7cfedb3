import type { IncomingHttpHeaders } from 'node:http';
import { badRequest } from '@atrium/objects/status.ts';
import { percentDecoded } from '@atrium/objects/validation.ts';

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

const maxLength = 2048;

/** Characters of a segment (RFC 3986, 3.3), and characters that browsers leave unescaped. */
const segmentText = /^(?:[-\w.~!$&'()*+,;=:@"<>[\]^`{|}]|%[0-9a-f]{2})*$/i;
const toBeEscaped = /["<>[\]^`{|}]/g;

/** Segments that a server may read as another path, if it decodes twice or removes parameters. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const unfit = /[/\\\u0000-\u001f\u007f]|^\.{1,2}(?:;|$)|%(?:2e|2f|5c|00|25)/i;

/** The part of a path behind the service's own segments. */
export interface RestOfPath {
  /** Path to send, without its first slash: unchanged, except for characters that must be escaped. */
  readonly escaped: string;
  readonly decoded: string;
}

/**
 * Returns the path behind the first `ownSegments` segments of a request target, if all servers read it in the same way.
 *
 * Reads the unparsed target, because URL parsers remove `..` and turn `\` into `/`, which would hide refused paths.
 *
 * @throws StatusError 400 for ambiguous paths: `..`, empty segments, escaped slashes, double escapes
 */
export function restOfPath(target: string, ownSegments: number): RestOfPath {
  const path = target.replace(/^[a-z][-+.a-z0-9]*:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '');
  const segments = path.split('/').slice(1 + ownSegments);
  if (path.length > maxLength) throw badRequest(`the path is longer than ${maxLength} bytes`);
  const decoded = segments.map(decodeSegment);
  if (decoded.slice(0, -1).includes('')) throw refusal();
  return { escaped: segments.map((segment) => segment.replace(toBeEscaped, encodeURIComponent)).join('/'), decoded: decoded.join('/') };
}

const refusal = () =>
  badRequest('the path must be plain: no "..", no empty segment, no escaped slash or dot, no backslash, no control character');

function decodeSegment(segment: string): string {
  if (!segmentText.test(segment)) throw refusal();
  const decoded = percentDecoded(segment);
  if (unfit.test(decoded) || /%2e/i.test(segment)) throw refusal();
  return decoded;
}

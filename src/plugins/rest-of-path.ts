import { badRequest } from '../api/status.ts';

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
  try {
    const decoded = decodeURIComponent(segment);
    if (unfit.test(decoded) || /%2e/i.test(segment)) throw refusal();
    return decoded;
  } catch (error) {
    throw error instanceof URIError ? badRequest('the path contains an invalid percent-encoded character') : error;
  }
}

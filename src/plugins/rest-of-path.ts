import { badRequest } from '../api/status.ts';

const maxLength = 2048;

/** What may stand in a segment (RFC 3986, 3.3), and what browsers leave unescaped beside it. */
const segmentText = /^(?:[-\w.~!$&'()*+,;=:@"<>[\]^`{|}]|%[0-9a-f]{2})*$/i;
const toBeEscaped = /["<>[\]^`{|}]/g;

/** What a server that decodes once more, or cuts off parameters, would take for another path. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const unfit = /[/\\\u0000-\u001f\u007f]|^\.{1,2}(?:;|$)|%(?:2e|2f|5c|00|25)/i;

/** The part of a path that is not ours. */
export interface RestOfPath {
  /** As it goes on, without its first slash: escaped where it must be, and otherwise as it came. */
  readonly escaped: string;
  readonly decoded: string;
}

/**
 * What stands in a request target behind the first `ownSegments` segments, as every server on its way will understand it.
 *
 * It works on the target as it came. Whatever parses URLs removes `..` and turns `\` into `/`, and would hide what is refused here.
 *
 * @throws StatusError 400 for what could lead elsewhere: `..`, empty segments, escaped slashes, whatever is escaped twice
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
    throw error instanceof URIError ? badRequest('the path holds a percent sign that begins no UTF-8 escape') : error;
  }
}

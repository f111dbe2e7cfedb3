import { badRequest, unknownPath } from '../api/status.ts';
import { reservedPath } from '../http/router.ts';

/** Segments that another decoding would change: never a page. */
const encodedTwice = /%[0-9a-f]{2}/i;

const maxLength = 2048;

/**
 * Returns the file that a request target names: decoded once, without the base path and the first slash. `''` is the root, `a/` is a
 * directory.
 *
 * Reads the unparsed target, because URL parsers remove `..` and turn `\` into `/`, which would hide refused paths.
 *
 * @throws StatusError 400 for a path that may lead out of the root, 404 for a path that cannot be a static file
 */
export function staticPath(target: string, basePath: string): string {
  const path = target.replace(/^[a-z][-+.a-z0-9]*:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '');
  if (!path.startsWith(`${basePath}/`)) throw unknownPath();
  const decoded = decodeOnce(path.slice(basePath.length + 1));
  const segments = decoded.split('/');
  if (decoded.includes('\0') || decoded.includes('\\') || segments.includes('..') || /^[a-z]:/i.test(decoded)) {
    throw badRequest('the path must be plain: no "..", no backslash, no NUL, no drive letter');
  }
  const hasEmptySegment = segments.slice(0, -1).includes('');
  const hasDotFile = segments.some((segment) => segment.startsWith('.'));
  // Paths of operations in any spelling: an unknown operation must not return a page.
  const isUnfit = decoded.length > maxLength || encodedTwice.test(decoded) || reservedPath.test(`/${decoded}`);
  if (hasEmptySegment || hasDotFile || isUnfit) throw unknownPath();
  return decoded;
}

function decodeOnce(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw badRequest('the path holds a percent sign that begins no UTF-8 escape');
  }
}

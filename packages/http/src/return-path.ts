/** Pages to which a login returns, for the service and the console. */

export const maxReturnPath = 2048;

/** Path with one leading slash, without an empty segment or a backslash, in visible ASCII. */
const plainPath = /^\/(?:[\x21-\x2e\x30-\x5b\x5d-\x7e]+\/)*[\x21-\x2e\x30-\x5b\x5d-\x7e]*$/;

/** Reports whether every client resolves the path to this origin, even a client that decodes it first. */
export function isReturnPath(text: string): boolean {
  if (text.length > maxReturnPath || !plainPath.test(text)) return false;
  const [path = ''] = text.split(/[?#]/, 1);
  try {
    return !/\/\/|\\|\p{Cc}/u.test(decodeURIComponent(path));
  } catch {
    return false;
  }
}

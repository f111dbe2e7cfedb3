/** Bounds of a text and of all texts of an answer, in characters, like the API server's. */
const maxText = 256;
const maxTotal = 4096;

/**
 * Returns the values of `Warning` headers (code 299, RFC 7234 section 5.5). Characters outside of printable ASCII are escaped as `\u` and
 * four hexadecimal digits. Long texts are cut, and texts beyond 4 KiB are dropped.
 */
export function warningHeaders(texts: readonly string[]): string[] {
  let room = maxTotal;
  const headers: string[] = [];
  for (const text of texts) {
    const shown = text.slice(0, maxText).replaceAll(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
    const header = `299 - ${JSON.stringify(shown)}`;
    room -= header.length;
    if (room < 0) break;
    headers.push(header);
  }
  return headers;
}

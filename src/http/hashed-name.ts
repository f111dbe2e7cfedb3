/** Eight or more hex digits, at least one of them a number. */
const hash = /^(?=[a-f]*\d)[0-9a-f]{8,64}$/i;
/** Eight digits that read as a date are no hash: taking a report for a build would pin it in browsers for a year. */
const date = /^(?:19|20)\d{6}$/;
const extension = /^[a-z][a-z0-9]*$/i;

const isHash = (text: string): boolean => hash.test(text) && !date.test(text);

/** Reports whether a file name has a hash of its contents: `main.3f2a9c1b.js`, `main-3f2a9c1b.js.map`. */
export function isHashedName(name: string): boolean {
  const parts = name.split('.');
  for (let index = parts.length - 1; index > 0 && extension.test(parts[index] ?? ''); index -= 1) {
    const before = parts[index - 1] ?? '';
    const hyphen = before.lastIndexOf('-');
    if ((hyphen >= 0 || index > 1) && isHash(before.slice(hyphen + 1))) return true;
  }
  return false;
}

/** `Cache-Control` of a URL whose contents never change. */
export const immutable = 'public, max-age=31536000, immutable';

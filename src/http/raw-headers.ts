import type { IncomingMessage } from 'node:http';

/**
 * Each value of a header as it came, repeated ones too, which `headers` joins or drops.
 *
 * @param name in lower case
 */
export function headerValues({ rawHeaders }: IncomingMessage, name: string): string[] {
  const values: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const given = rawHeaders[index] ?? '';
    if (given.length === name.length && given.toLowerCase() === name) values.push(rawHeaders[index + 1] ?? '');
  }
  return values;
}

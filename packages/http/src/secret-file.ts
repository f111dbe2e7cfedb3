import { readFile } from 'node:fs/promises';

/** Reads a secret. A byte order mark and line breaks at the end, which editors add, are not part of it. Blanks are. */
export const readSecretFile = async (file: string): Promise<string> => secretOf(await readFile(file, 'utf8'));

export function secretOf(text: string): string {
  let end = text.length;
  while (end > 0 && /[\r\n]/.test(text.charAt(end - 1))) end -= 1;
  return text.slice(text.startsWith('\ufeff') ? 1 : 0, end);
}

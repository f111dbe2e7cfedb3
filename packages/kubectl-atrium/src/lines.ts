import { CommandError } from './terminal.ts';

/** Characters of a line. An event has 64 KiB at most. */
const maxLength = 1024 * 1024;

/** Returns the lines of a text, one at a time. @throws CommandError for a line that is too long */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunks) {
    const lines = `${rest}${decoder.decode(chunk, { stream: true })}`.split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > maxLength) throw new CommandError('the answer or file has a line that is too long');
    yield* lines;
  }
  if (rest !== '') yield rest;
}

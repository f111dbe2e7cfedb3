/** Longest command in a row, as in a sentence of the console. JSON has the whole one. */
const maxLength = 160;
const plain = /^[\w./:=,@%+-]+$/;

/** Joins the words of a command so that a POSIX shell separates them again, and shortens the line. */
export function shellLine(words: readonly string[]): string {
  const line = words.map((word) => (plain.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ');
  return line.length > maxLength ? `${line.slice(0, maxLength)}…` : line;
}

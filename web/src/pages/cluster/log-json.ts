/** JSON in log lines. */

/** A string, a mark of structure, a literal or number. */
const tokens = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** Returns a line that is a JSON object with a line for each member. Numbers keep the digits of the source text. */
export function openJson(text: string): string {
  if (!/^\s*\{.*\}\s*$/s.test(text)) return text;
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  let [shown, depth, before] = ['', 0, ''];
  for (const [token] of text.matchAll(tokens)) {
    const isClosing = token === '}' || token === ']';
    if (isClosing) depth -= 1;
    const isFirst = before === '{' || before === '[';
    if ((isClosing && !isFirst) || (!isClosing && (isFirst || before === ','))) shown += `\n${'  '.repeat(depth)}`;
    shown += token === ':' ? ': ' : token;
    if (token === '{' || token === '[') depth += 1;
    before = token;
  }
  return shown;
}

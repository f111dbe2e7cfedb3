/** JSON in log lines, and in the entries of a ConfigMap or a Secret. */

/** A string, a mark of structure, a literal or number. */
const tokens = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** Returns a line that is a JSON object with a line for each member. */
export const openJson = (text: string): string => (/^\s*\{.*\}\s*$/s.test(text) ? indentJson(text) : undefined) ?? text;

/**
 * Returns JSON with a line for each member: numbers keep their digits, and objects all members of one name. Undefined for a text that is no
 * JSON object or array.
 */
export function indentJson(text: string): string | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    JSON.parse(text);
  } catch {
    return undefined;
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

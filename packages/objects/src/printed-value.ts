/** Texts of values in the columns of `kubectl get`, as Go prints them. */

/** Bound of the members that are sorted. Larger objects keep their order, so that a cell does not sort thousands of names. */
const maxSorted = 1000;

/** @param maxLength bounds the text, and the work for it */
export function printedValue(value: unknown, maxLength: number): string {
  if (typeof value === 'object' && value !== null) {
    const parts: string[] = [];
    writeJson(value, { parts, left: maxLength });
    return parts
      .join('')
      .replaceAll(/[<>&\u2028\u2029]/g, escaped)
      .slice(0, maxLength);
  }
  return (typeof value === 'number' ? printedNumber(value) : String(value ?? '')).slice(0, maxLength);
}

/** Formats a float64 like `%v`. Whole numbers are integers in Kubernetes. */
function printedNumber(value: number): string {
  if (Number.isSafeInteger(value)) return String(value);
  const [digits = '', exponent = ''] = value.toExponential().split('e');
  const power = Number(exponent);
  if (power >= -4 && power < 6) return String(value);
  return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}

/** Escapes a character like Go, whose JSON is safe in HTML. */
const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

interface Writing {
  readonly parts: string[];
  left: number;
}

function writeJson(value: unknown, writing: Writing): void {
  if (typeof value === 'object' && value !== null) writeContents(value, writing);
  else write(typeof value === 'bigint' ? String(value) : JSON.stringify(value), writing);
}

function writeContents(value: object, writing: Writing): void {
  const isArray = Array.isArray(value);
  const names = Object.keys(value);
  if (!isArray && names.length <= maxSorted) names.sort();
  write(isArray ? '[' : '{', writing);
  for (const [index, name] of names.entries()) {
    if (writing.left <= 0) return;
    if (index > 0) write(',', writing);
    if (!isArray) write(`${JSON.stringify(name)}:`, writing);
    writeJson(Reflect.get(value, name), writing);
  }
  write(isArray ? ']' : '}', writing);
}

function write(text: string, writing: Writing): void {
  writing.parts.push(text);
  writing.left -= text.length;
}

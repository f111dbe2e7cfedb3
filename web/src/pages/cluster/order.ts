/** The order of cells: numbers, quantities and durations by their value, other texts with numbers in them as a reader would. */

type Cell = unknown;

const quantity = /^([-+]?(?:\d+(?:\.\d*)?|\.\d+))(?:([KMGTPE]i|[numkMGTPE])|e([-+]?\d+))?$/i;
const binary = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const decimal: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };

/** Parses like `k8s.io/apimachinery/pkg/api/resource`: `100m`, `1.5Gi`, `2e3`. */
export function quantityIn(text: string): number | undefined {
  const [found, digits, suffix = '', exponent] = quantity.exec(text) ?? [];
  if (found === undefined) return undefined;
  const power = binary.indexOf(suffix);
  if (power >= 0) return Number(digits) * 1024 ** (power + 1);
  const tens = suffix === '' ? Number(exponent ?? 0) : decimal[suffix];
  const value = tens === undefined ? Number.NaN : Number(digits) * 10 ** tens;
  return Number.isFinite(value) ? value : undefined;
}

const seconds: Readonly<Record<string, number>> = {
  ...{ y: 365 * 86_400, w: 7 * 86_400, d: 86_400, h: 3600, m: 60, s: 1 },
  ...{ ms: 1e-3, us: 1e-6, µs: 1e-6, ns: 1e-9 },
};
const duration = /^-?(?:\d+(?:\.\d+)?(?:ms|us|µs|ns|[ywdhms]))+$/;

/** Parses an age as kubectl prints it, or a Go duration: `2y10d`, `1h0m0s`, `300ms`. */
export function secondsIn(text: string): number | undefined {
  if (!duration.test(text)) return undefined;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|us|µs|ns|[ywdhms])/g)];
  const sum = parts.reduce((total, [, number, unit = '']) => total + Number(number) * (seconds[unit] ?? 0), 0);
  return text.startsWith('-') ? -sum : sum;
}

/** `<none>`, `<unknown>` and `<invalid>` are how kubectl prints a missing value. */
const isMissing = (cell: Cell): boolean => cell === null || cell === undefined || /^(?:<\w+>)?$/.test(String(cell));

const numberIn = (cell: Cell): number | undefined => (typeof cell === 'number' || typeof cell === 'bigint' ? Number(cell) : undefined);
const collator = new Intl.Collator('en', { numeric: true });

/** Compares cells of a column. A value counts as a quantity or a duration only if all of them are. Missing ones come first. */
export function orderOf(cells: readonly Cell[]): (a: Cell, b: Cell) => number {
  const present = cells.filter((cell) => !isMissing(cell));
  const readers = [numberIn, (cell: Cell) => quantityIn(String(cell)), (cell: Cell) => secondsIn(String(cell))];
  const read = readers.find((reader) => present.every((cell) => reader(cell) !== undefined));
  return (a, b) => {
    const missing = Number(isMissing(b)) - Number(isMissing(a));
    if (missing !== 0 || isMissing(a)) return missing;
    return (read && Math.sign((read(a) ?? 0) - (read(b) ?? 0))) || collator.compare(String(a), String(b));
  };
}

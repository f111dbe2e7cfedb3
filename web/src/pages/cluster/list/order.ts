/** The order of cells: numbers, quantities and durations by their value, other texts with numbers in them as a reader would. */

import { secondsIn } from '@atrium/objects/go-duration.ts';
import { quantityOf } from '@atrium/objects/quantity.ts';

type Cell = unknown;

/** `<none>`, `<unknown>` and `<invalid>` are how kubectl prints a missing value. */
const isMissing = (cell: Cell): boolean => cell === null || cell === undefined || /^(?:<\w+>)?$/.test(String(cell));

const numberIn = (cell: Cell): number | undefined => (typeof cell === 'number' || typeof cell === 'bigint' ? Number(cell) : undefined);
const collator = new Intl.Collator('en', { numeric: true });

/** Compares cells of a column. A value counts as a quantity or a duration only if all of them are. Missing ones come first. */
export function orderOf(cells: readonly Cell[]): (a: Cell, b: Cell) => number {
  const present = cells.filter((cell) => !isMissing(cell));
  const readers = [numberIn, (cell: Cell) => quantityOf(String(cell)), (cell: Cell) => secondsIn(String(cell))];
  const read = readers.find((reader) => present.every((cell) => reader(cell) !== undefined));
  return (a, b) => {
    const missing = Number(isMissing(b)) - Number(isMissing(a));
    if (missing !== 0 || isMissing(a)) return missing;
    return (read && Math.sign((read(a) ?? 0) - (read(b) ?? 0))) || collator.compare(String(a), String(b));
  };
}

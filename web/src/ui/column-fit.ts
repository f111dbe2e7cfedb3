/** Distributes the width of a table among its columns. */

export interface FittedColumn {
  id: string;
  /** Width of the contents. */
  width: number;
  /** Hidden where the others need its room. */
  isMinor: boolean;
  /** Neither grows nor shrinks. */
  isFixed: boolean;
  /** Cut after all others: names of pods differ at their end. */
  isName: boolean;
}

/** A column is cut to this width before another one is hidden. A bold name of 45 characters is complete. */
const readable = { name: 420, other: 220 };
/** A table whose columns would be narrower is scrolled. */
const narrowest = 96;

export const sum = (widths: readonly number[]): number => widths.reduce((all, width) => all + width, 0);

const leastOf = ({ width, isFixed, isName }: FittedColumn): number =>
  isFixed ? width : Math.min(width, isName ? readable.name : readable.other);

const needs = (columns: readonly FittedColumn[]): number => sum(columns.map(leastOf));

/** Returns the columns that fit. The last minor ones are hidden first, as the first columns of a kind are the most important. */
export function columnsThatFit<T extends FittedColumn>(columns: readonly T[], room: number): readonly T[] {
  const hidden = new Set<T>();
  const shown = () => columns.filter((column) => !hidden.has(column));
  for (const column of columns.filter(({ isMinor }) => isMinor).toReversed()) if (needs(shown()) > room) hidden.add(column);
  for (const column of [...hidden].toReversed()) {
    hidden.delete(column);
    if (needs(shown()) > room) hidden.add(column);
  }
  return shown();
}

/**
 * Returns the width of each column. Remaining room is shared in proportion; missing room is taken from the widest columns, and from the
 * name last.
 */
export function fittedWidths(columns: readonly FittedColumn[], room: number): number[] {
  const spare = room - needs(columns);
  const wanted = columns.map((column) => {
    const isKept = column.isFixed || (column.isName && spare >= 0);
    return { width: isKept ? Math.min(column.width, leastOf(column) + Math.max(0, spare)) : column.width, isKept };
  });
  const widthsOf = (isKept: boolean) => wanted.filter((one) => one.isKept === isKept).map(({ width }) => width);
  const most = Math.max(narrowest, widthWithin(widthsOf(false), room - sum(widthsOf(true))));
  const fitted = wanted.map(({ width, isKept }) => (isKept ? width : Math.min(width, most)));
  const left = Math.max(0, room - sum(fitted));
  const growing = sum(fitted.filter((_, index) => !columns[index]?.isFixed));
  return fitted.map((width, index) => (columns[index]?.isFixed ? width : width + (left * width) / growing));
}

/** Returns the width to which the widest columns are cut, so that all fit. */
function widthWithin(widths: readonly number[], room: number): number {
  let left = room;
  for (const [index, width] of widths.toSorted((a, b) => a - b).entries()) {
    const share = left / (widths.length - index);
    if (width > share) return Math.floor(share);
    left -= width;
  }
  return Number.POSITIVE_INFINITY;
}

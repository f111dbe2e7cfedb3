import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { badParameter } from '@atrium/objects/status.ts';
import type { ListProperties, ListRow, SortValue } from './properties.ts';

export interface SortKey<Row> {
  readonly property: string;
  readonly isDescending: boolean;
  readonly read: (row: Row) => SortValue;
}

/** A position in a sorted list: the place of a row with these values, whether or not it exists. */
export interface Position {
  readonly values: readonly SortValue[];
  readonly name: string;
}

const directions = new Map([
  ['a', false],
  ['d', true],
]);

/**
 * Parses `a,property` and `d,property` pairs, or bare properties. The first mention of a property counts.
 *
 * @throws StatusError 400
 */
export function parseSort<Row>({ sorted }: Pick<ListProperties<Row>, 'sorted'>, parameter: string, order: 'asc' | 'desc'): SortKey<Row>[] {
  const keys = new Map<string, SortKey<Row>>();
  const words = parameter.split(',');
  for (let at = 0; at < words.length; at += 1) {
    const direction = directions.get(words[at] ?? '');
    if (direction !== undefined) at += 1;
    const property = words[at] ?? '';
    const read = sorted.get(property);
    if (read === undefined) {
      throw badParameter(
        'sortBy',
        `must be a list of properties, each with an optional a or d before it; known are: ${[...sorted.keys()].join(', ')}`,
        'FieldValueNotSupported',
      );
    }
    if (!keys.has(property)) keys.set(property, { property, isDescending: direction ?? order === 'desc', read });
  }
  return [...keys.values()];
}

function compareValues(left: SortValue, right: SortValue, isDescending: boolean): number {
  if (left === right) return 0;
  if (left === undefined) return 1;
  if (right === undefined) return -1;
  if (typeof left !== typeof right) return (typeof left === 'number') === isDescending ? 1 : -1;
  return left < right === isDescending ? 1 : -1;
}

const compareNames = (left: string, right: string) => (left < right ? -1 : Number(left !== right));

/** Compares rows by keys. Missing values are last in both directions; ties are in the order of names, so that no two rows are equal. */
export function comparator<Row extends ListRow>(keys: readonly SortKey<Row>[]): (left: Row, right: Row) => number {
  return (left, right) => {
    for (const { read, isDescending } of keys) {
      const result = compareValues(read(left), read(right), isDescending);
      if (result !== 0) return result;
    }
    return compareNames(left.name, right.name);
  };
}

export const positionOf = <Row extends ListRow>(row: Row, keys: readonly SortKey<Row>[]): Position => ({
  values: keys.map(({ read }) => read(row)),
  name: row.name,
});

function compareToPosition<Row extends ListRow>(row: Row, position: Position, keys: readonly SortKey<Row>[]): number {
  for (const [index, { read, isDescending }] of keys.entries()) {
    const result = compareValues(read(row), position.values[index], isDescending);
    if (result !== 0) return result;
  }
  return compareNames(row.name, position.name);
}

/**
 * Returns the index of the first element for which `isBehind` holds, its length if there is none. The predicate must hold for a tail of the
 * array.
 */
export function firstIndex<T>(elements: readonly T[], isBehind: (element: T) => boolean): number {
  let low = 0;
  let high = elements.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const element = elements[middle];
    if (element !== undefined && isBehind(element)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Reports whether a row is after a position. */
export const isAfter = <Row extends ListRow>(row: Row, position: Position, keys: readonly SortKey<Row>[]): boolean =>
  compareToPosition(row, position, keys) > 0;

/** Elements that take a few milliseconds. */
const sliceLength = 4096;

/** Filters like `Array.prototype.filter`, in turns of the event loop, so that many elements do not delay other requests. */
export async function filterInSlices<T>(elements: readonly T[], fits: (element: T) => boolean): Promise<T[]> {
  const slices: T[][] = [];
  for (let at = 0; at < elements.length; at += sliceLength) {
    if (at > 0) await yieldToEventLoop();
    slices.push(elements.slice(at, at + sliceLength).filter(fits));
  }
  return slices.flat();
}

/** Sorts like `Array.prototype.toSorted`, in turns of the event loop. */
export async function sortInSlices<T>(elements: readonly T[], compare: (left: T, right: T) => number): Promise<T[]> {
  if (elements.length <= sliceLength) return elements.toSorted(compare);
  const middle = elements.length >>> 1;
  const left = await sortInSlices(elements.slice(0, middle), compare);
  await yieldToEventLoop();
  return mergeInSlices(left, await sortInSlices(elements.slice(middle), compare), compare);
}

async function mergeInSlices<T>(left: readonly T[], right: readonly T[], compare: (left: T, right: T) => number): Promise<T[]> {
  const merged: T[] = [];
  let fromLeft = 0;
  let fromRight = 0;
  for (;;) {
    const first = left[fromLeft];
    const second = right[fromRight];
    if (first === undefined || second === undefined) return merged.concat(left.slice(fromLeft), right.slice(fromRight));
    const takesFirst = compare(first, second) <= 0;
    merged.push(takesFirst ? first : second);
    if (takesFirst) fromLeft += 1;
    else fromRight += 1;
    if (merged.length % sliceLength === 0) await yieldToEventLoop();
  }
}

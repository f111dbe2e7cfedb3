/** Evaluates the steps of a JSONPath, like k8s.io/client-go/util/jsonpath with missing keys allowed. */

export type Step =
  | { readonly type: 'member'; readonly name: string }
  /** Selects all members or elements. */
  | { readonly type: 'every' }
  /** Selects the value and its descendants. */
  | { readonly type: 'deep' }
  | { readonly type: 'index'; readonly index: number }
  | { readonly type: 'slice'; readonly from?: number | undefined; readonly to?: number | undefined; readonly step?: number | undefined }
  | { readonly type: 'union'; readonly paths: readonly Path[] }
  /** Selects elements by a comparison. Without an operator, selects elements that have the left side. */
  | { readonly type: 'filter'; readonly left: Path; readonly operator: string | undefined; readonly right: Path }
  | { readonly type: 'literal'; readonly value: string | number | boolean; readonly isFloat?: boolean };

export type Path = readonly Step[];

/** Bound of the values that a path visits in an object, because callers choose the size of their objects. */
const maxVisited = 10_000;

/** Values; undefined where kubectl reports an error, such as an index beyond the end. */
type Found = readonly unknown[] | undefined;

/** Returns the values of the path in the order of the object; empty if the path does not fit or visits too many values. */
export function valuesAt(path: Path, object: unknown): readonly unknown[] {
  return walk(path, [object], { left: maxVisited }) ?? [];
}

interface Visits {
  left: number;
}

function walk(path: Path, values: Found, visits: Visits): Found {
  let found = values;
  for (const step of path) {
    if (found === undefined) return undefined;
    found = follow(step, found, visits);
    visits.left -= found?.length ?? 0;
    if (visits.left < 0) return undefined;
  }
  return found;
}

function follow(step: Step, values: readonly unknown[], visits: Visits): Found {
  switch (step.type) {
    case 'literal':
      return [step.value];
    case 'member':
      return values.flatMap((value) => memberOf(value, step.name));
    case 'every':
      return values.flatMap(contentsOf);
    case 'deep':
      return within(values, visits);
    case 'union':
      return joined(step.paths.map((path) => walk(path, values, visits)));
    default:
      return joined(values.filter((value) => value !== null).map((value) => elementsOf(step, value, visits)));
  }
}

const joined = (parts: readonly Found[]): Found => (parts.includes(undefined) ? undefined : parts.flatMap((part) => part ?? []));

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null;

const memberOf = (value: unknown, name: string): unknown[] =>
  isContainer(value) && !Array.isArray(value) && Object.hasOwn(value, name) ? [Reflect.get(value, name)] : [];

const contentsOf = (value: unknown): unknown[] => (isContainer(value) ? Object.values(value) : []);

/** Returns each value with contents, before its contents. */
function within(values: readonly unknown[], visits: Visits): Found {
  const found: unknown[] = [];
  const ahead = values.toReversed();
  while (ahead.length > 0) {
    const value = ahead.pop();
    const contents = contentsOf(value);
    if (contents.length === 0) continue;
    visits.left -= contents.length;
    if (visits.left < 0) return undefined;
    found.push(value);
    ahead.push(...contents.reverse());
  }
  return found;
}

type ElementStep = Extract<Step, { type: 'index' | 'slice' | 'filter' }>;

function elementsOf(step: ElementStep, value: unknown, visits: Visits): Found {
  if (!Array.isArray(value)) return undefined;
  const array: unknown[] = value;
  if (step.type === 'filter') return filtered(step, array, visits);
  if (step.type === 'slice') return sliced(step, array);
  const index = step.index < 0 ? step.index + array.length : step.index;
  return index >= 0 && index < array.length ? [array[index]] : undefined;
}

function sliced({ from = 0, to, step = 1 }: Extract<Step, { type: 'slice' }>, array: readonly unknown[]): Found {
  const begin = from < 0 ? from + array.length : from;
  const end = to === undefined ? array.length : to < 0 ? to + array.length : to;
  if (begin === end) return [];
  if (begin < 0 || begin > end || end > array.length || step < 1) return undefined;
  return array.slice(begin, end).filter((_, index) => index % step === 0);
}

type Filter = Extract<Step, { type: 'filter' }>;

function filtered(step: Filter, array: readonly unknown[], visits: Visits): Found {
  const found: unknown[] = [];
  for (const element of array) {
    visits.left -= 1;
    const isFit = visits.left < 0 ? undefined : fits(step, element, visits);
    if (isFit === undefined) return undefined;
    if (isFit) found.push(element);
  }
  return found;
}

/** Returns undefined where kubectl reports an error. */
function fits({ left, operator, right }: Filter, element: unknown, visits: Visits): boolean | undefined {
  const lefts = walk(left, [element], visits);
  if (operator === undefined) return lefts !== undefined && lefts.length > 0;
  if (lefts?.length === 0) return false;
  const rights = walk(right, [element], visits);
  if (rights?.length === 0) return false;
  if (lefts?.length !== 1 || rights?.length !== 1) return undefined;
  return compare({ value: lefts[0], isFloat: isFloat(left) }, operator, { value: rights[0], isFloat: isFloat(right) });
}

const isFloat = (path: Path): boolean => path.some((step) => step.type === 'literal' && step.isFloat === true);

interface Operand {
  value: unknown;
  /** True for a literal with a decimal point, which Go compares with no integer. */
  isFloat: boolean;
}

type Comparable = string | number | bigint | boolean;

/** Returns undefined for operands that Go's templates cannot compare. */
function compare(left: Operand, operator: string, right: Operand): boolean | undefined {
  const kind = kindOf(left);
  if (kind === undefined || kind !== kindOf(right)) return undefined;
  const [a, b] = [left.value as Comparable, right.value as Comparable];
  // Equal integers may be a number and a BigInt.
  const isEqual = a === b || (kind === 'int' && a >= b && a <= b);
  if (operator === '==' || operator === '!=') return isEqual === (operator === '==');
  if (kind === 'boolean') return undefined;
  if (operator === '<' || operator === '>') return operator === '<' ? a < b : a > b;
  return operator === '<=' ? a <= b : a >= b;
}

function kindOf({ value, isFloat: isWrittenAsFloat }: Operand): string | undefined {
  if (typeof value === 'bigint') return 'int';
  if (typeof value === 'number') return Number.isInteger(value) && !isWrittenAsFloat ? 'int' : 'float';
  return typeof value === 'string' || typeof value === 'boolean' ? typeof value : undefined;
}

/** Checks of the built-in kinds that data/checks.yaml declares, beside the values that the published schemas allow. */
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { duplicate, type FieldError, forbidden, invalidValue, notSupported, required } from '@atrium/objects/field-error.ts';
import { labelKeyProblems, labelValueProblems } from '@atrium/objects/labels.ts';
import { quantityOf } from '@atrium/objects/quantity.ts';
import { parse } from 'yaml';
import { formats } from './kind-formats.ts';
import type { Member, Shape } from './kind-shapes.ts';
import { isJsonObject, type JsonObject } from './objects.ts';

/** Row of data/checks.yaml, which explains the members. */
interface Declared {
  required?: string;
  isEmptyAllowed?: boolean;
  min?: number;
  above?: number;
  most?: number;
  between?: [number, number];
  format?: string;
  empty?: boolean;
  keys?: string;
  labels?: boolean;
  unique?: string;
  quantities?: 'natural' | 'positive';
  storage?: boolean;
  percent?: boolean;
  port?: true | 'optional';
  mode?: boolean;
  immutable?: boolean;
  allowed?: readonly string[] | 'list' | 'listInvalid' | 'parent' | 'parentInvalid' | 'invalid';
  detail?: string;
}

interface OneOf {
  oneOf: readonly string[];
  more?: string;
  none?: string;
}

const declared = parse(readFileSync(new URL('../data/checks.yaml', import.meta.url), 'utf8'), { merge: true }) as Readonly<
  Record<string, Readonly<Record<string, Declared>> & { '.'?: OneOf }>
>;

/** Mistake, written with the path of the member and that of the object around it. */
type Mistake = (path: string, around: string) => FieldError;
/** Looks for mistakes in a member. Manifests have tens of thousands of members, so that paths are made for mistakes alone. */
type Check = (value: unknown, parent: JsonObject, old: unknown) => readonly Mistake[] | undefined;

interface Checks {
  own: OneOf | undefined;
  members: readonly (readonly [key: string, checks: readonly Check[], member: Member])[];
}

/** Bound of the mistakes of an answer: the walk ends with it. */
const mostErrors = 1000;

const compiled = new Map<Shape, Checks>();

/** Returns what is wrong with an object. On an update, members that stay as they were are not checked. */
export function checkKind(shape: Shape, object: JsonObject, old: JsonObject | undefined): FieldError[] {
  const walk = new Walk();
  for (const key of ['apiVersion', 'kind', 'metadata', 'status']) walk.passed.add(key);
  if (old !== undefined) for (const key of Object.keys(object)) if (isDeepStrictEqual(object[key], old[key])) walk.passed.add(key);
  walk.object(shape, object, old);
  return walk.errors;
}

class Walk {
  readonly errors: FieldError[] = [];
  /** Members of the root that are not checked. */
  readonly passed = new Set<string>();
  readonly #steps: (string | number)[] = [];

  object(shape: Shape, object: JsonObject, old: unknown): void {
    const { own, members } = checksOf(shape);
    const isRoot = this.#steps.length === 0;
    if (own !== undefined) this.errors.push(...oneOfErrors(own, object, () => pathOf(this.#steps)));
    for (const [key, checks, { shape: memberShape, isStruct }] of members) {
      if (isRoot && this.passed.has(key)) continue;
      const value = object[key] ?? (isStruct ? {} : undefined);
      if (value === undefined && checks.length === 0) continue;
      const before = isJsonObject(old) ? old[key] : undefined;
      this.#steps.push(key);
      for (const check of checks) this.#add(check(value, object, before));
      if (typeof value === 'object') this.#value(memberShape, value, before);
      this.#steps.pop();
    }
  }

  #add(mistakes: readonly Mistake[] | undefined): void {
    if (mistakes === undefined) return;
    const [path, around] = [pathOf(this.#steps), pathOf(this.#steps.slice(0, -1))];
    for (const mistake of mistakes) this.errors.push(mistake(path, around));
  }

  #value(shape: Shape, value: unknown, old: unknown): void {
    const { form, items } = shape;
    if (form === 'object' && isJsonObject(value)) this.object(shape, value, old);
    if (items?.form !== 'object' || (form !== 'list' && form !== 'map')) return;
    for (const [key, item] of form === 'list' ? (value as unknown[]).entries() : Object.entries(value as JsonObject)) {
      if (this.errors.length >= mostErrors) return;
      if (!isJsonObject(item)) continue;
      this.#steps.push(key);
      this.object(items, item, undefined);
      this.#steps.pop();
    }
  }
}

const pathOf = (steps: readonly (string | number)[]) =>
  steps.reduce<string>((path, step) => (typeof step === 'number' ? `${path}[${step}]` : path === '' ? step : `${path}.${step}`), '');

function checksOf(shape: Shape): Checks {
  const known = compiled.get(shape);
  if (known !== undefined) return known;
  const names = shape.name.split('.');
  const rows = declared[names.slice(-3).join('.')] ?? declared[names.at(-1) ?? ''] ?? {};
  const members = [...shape.members].map(([key, member]) => [key, checksOfMember(rows[key] ?? {}, member), member] as const);
  const made = {
    own: rows['.'],
    members: members.filter(
      ([
        ,
        checks,
        {
          shape: { form },
        },
      ]) => checks.length > 0 || ['object', 'list', 'map'].includes(form),
    ),
  };
  compiled.set(shape, made);
  return made;
}

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === '' || value === 0 || (typeof value === 'object' && value !== null && Object.keys(value).length === 0);

/** Returns the mistake of a value that must not be. */
const wrong =
  (value: unknown, detail: string, part = ''): Mistake =>
  (path) =>
    invalidValue(path + part, value, detail);

/** Returns a check of the texts of a member, which may be a list of them. */
const checkOfTexts =
  (problemsOf: (text: string) => readonly string[], preset?: string): Check =>
  (value = preset) => {
    if (typeof value === 'string') return value === '' && preset === undefined ? undefined : problemsIn(value, '', problemsOf);
    if (!Array.isArray(value)) return undefined;
    return value.flatMap((one: unknown, index) => (typeof one === 'string' ? (problemsIn(one, `[${index}]`, problemsOf) ?? []) : []));
  };

function problemsIn(text: string, part: string, problemsOf: (text: string) => readonly string[]): Mistake[] | undefined {
  const problems = problemsOf(text);
  return problems.length === 0 ? undefined : problems.map((problem) => wrong(text, problem, part));
}

/** Returns a check of a number. */
const checkOfNumber =
  (isWrong: (value: number) => boolean, detail: string): Check =>
  (value) =>
    typeof value === 'number' && isWrong(value) ? [wrong(value, detail)] : undefined;

/** Returns a check of the entries of a map. */
const checkOfEntries =
  (problemsOf: (key: string, value: unknown) => readonly Mistake[] | undefined): Check =>
  (value) =>
    isJsonObject(value) ? Object.entries(value).flatMap(([key, part]) => problemsOf(key, part) ?? []) : undefined;

/** Checks by the name of their row, each made of its value. */
const makers: { readonly [Name in keyof Declared]?: (given: NonNullable<Declared[Name]>, row: Declared) => Check } = {
  required:
    (detail, { isEmptyAllowed = false }) =>
    (value) =>
      (isEmptyAllowed ? value === undefined : isEmpty(value)) ? [(path) => required(path, detail)] : undefined,
  min: (bound, { detail = `must be greater than or equal to ${bound}` }) => checkOfNumber((value) => value < bound, detail),
  above: (bound, { detail = `must be greater than ${bound}` }) => checkOfNumber((value) => value <= bound, detail),
  most:
    (bound, { detail = '' }) =>
    (value) =>
      typeof value === 'number' && value > bound ? [(path) => forbidden(path, detail)] : undefined,
  between: ([least, most], row) => {
    const mayBeZero = row.required !== undefined;
    return checkOfNumber(
      (value) => (value < least || value > most) && !(value === 0 && mayBeZero),
      `must be between ${least} and ${most}, inclusive`,
    );
  },
  format: (name, { empty }) => checkOfTexts(formatNamed(name), empty ? '' : undefined),
  keys: (name) => checkOfEntries((key) => problemsIn(key, `[${key}]`, formatNamed(name))),
  labels: () => (value) =>
    isJsonObject(value) ? Object.entries(value).flatMap(([key, text]) => labelMistakes(key, String(text))) : undefined,
  unique: (key) => (value) =>
    repeated(value, key)?.map(
      ([index, name]): Mistake =>
        (path) =>
          duplicate(`${path}[${index}].${key}`, name),
    ),
  quantities: (bound) => checkOfEntries((key, quantity) => quantityMistakes(bound, key, String(quantity))),
  storage: () => (value) => {
    const size = isJsonObject(value) && isJsonObject(value.requests) ? value.requests.storage : undefined;
    return size === undefined ? [(path) => required(`${path}[storage]`)] : quantityMistakes('positive', 'storage', String(size));
  },
  percent: () => (value) => percentProblems(value)?.map((problem) => wrong(value, problem)),
  port: (place) => (value) => {
    const port = value ?? (place === 'optional' ? 1 : 0);
    if (typeof port === 'string') return problemsIn(port, '', formatNamed('portName'));
    return typeof port === 'number' && (port < 1 || port > 65_535) ? [wrong(port, 'must be between 1 and 65535, inclusive')] : undefined;
  },
  mode: () => checkOfNumber((value) => value < 0 || value > 0o777, 'must be a number between 0 and 0777 (octal), both inclusive'),
  immutable: () => (value, _, old) =>
    old === undefined || isDeepStrictEqual(value, old) ? undefined : [wrong(value, 'field is immutable')],
};

function formatNamed(name: string): (text: string) => readonly string[] {
  const format = formats[name];
  if (format === undefined) throw new Error(`data/checks.yaml names the format ${name}, which does not exist`);
  return format;
}

function checksOfMember(row: Declared, { allowed }: Member): Check[] {
  const own = Object.entries(row).flatMap(([name, given]) => {
    const make = makers[name as keyof Declared] as ((given: unknown, row: Declared) => Check) | undefined;
    return make === undefined ? [] : [make(given, row)];
  });
  const values = Array.isArray(row.allowed) ? (row.allowed as readonly string[]) : allowed;
  return values === undefined ? own : [...own, allowedCheck(new Set(values), row)];
}

/** Refuses values that the schema does not allow. An empty text is no value. */
function allowedCheck(values: ReadonlySet<unknown>, { allowed, detail = '' }: Declared): Check {
  const isWrong = (text: unknown) => typeof text === 'string' && text !== '' && !values.has(text);
  const mistake =
    (text: unknown, part: string, value: unknown, parent: JsonObject): Mistake =>
    (path, around) => {
      if (allowed === 'parent') return notSupported(around, parent, [...values]);
      if (allowed === 'parentInvalid') return invalidValue(around, parent, detail);
      if (allowed === 'listInvalid') return invalidValue(path, value, detail);
      return allowed === 'invalid'
        ? invalidValue(path, text, detail)
        : notSupported(allowed === 'list' ? path : path + part, text, [...values]);
    };
  return (value, parent) => {
    if (!Array.isArray(value)) return isWrong(value) ? [mistake(value, '', value, parent)] : undefined;
    return value.flatMap((text: unknown, index) => (isWrong(text) ? [mistake(text, `[${index}]`, value, parent)] : []));
  };
}

function oneOfErrors({ oneOf, more, none }: OneOf, object: JsonObject, path: () => string): FieldError[] {
  const found = oneOf.filter((key) => object[key] !== undefined);
  if (found.length === 0) return none === undefined ? [] : [required(path(), none)];
  return more === undefined ? [] : found.slice(1).map((key) => forbidden(`${path()}.${key}`, more));
}

const labelMistakes = (key: string, value: string): Mistake[] => [
  ...labelKeyProblems(key).map((problem) => wrong(key, problem)),
  ...labelValueProblems(value).map((problem) => wrong(value, problem)),
];

/** Returns indexes of the items that repeat the key of an earlier one. */
function repeated(list: unknown, key: string): [index: number, value: unknown][] | undefined {
  if (!Array.isArray(list) || list.length < 2) return undefined;
  const [seen, found]: [Set<unknown>, [number, unknown][]] = [new Set(), []];
  for (const [index, item] of list.entries()) {
    const value: unknown = isJsonObject(item) ? item[key] : undefined;
    if (value === undefined || value === '') continue;
    if (seen.has(value)) found.push([index, value]);
    seen.add(value);
  }
  return found;
}

function quantityMistakes(bound: 'natural' | 'positive', key: string, quantity: string): Mistake[] | undefined {
  const size = quantityOf(quantity) ?? 0;
  if (bound === 'natural' ? size >= 0 : size > 0) return undefined;
  return [wrong(quantity, bound === 'natural' ? 'must be greater than or equal to 0' : 'must be greater than zero', `[${key}]`)];
}

function percentProblems(value: unknown): string[] | undefined {
  if (typeof value === 'number') return value < 0 ? ['must be greater than or equal to 0'] : undefined;
  if (typeof value !== 'string') return undefined;
  if (!/^[0-9]+%$/.test(value))
    return [
      "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
    ];
  return Number(value.slice(0, -1)) > 100 ? ['must not be greater than 100%'] : undefined;
}

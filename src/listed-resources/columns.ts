/** Columns of rows next to the metadata, and their comparison. */
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { isShowable, type JSONPath, parseJSONPath } from '@atrium/objects/json-path.ts';
import { printedValue } from '@atrium/objects/printed-value.ts';
import { reader } from '@atrium/objects/reader.ts';
import { z } from 'zod';

export type ColumnType = 'string' | 'number' | 'date' | 'boolean';
/** Value of a column. An integer that a double cannot hold is a BigInt. */
export type Value = string | number | bigint | boolean | null;

export interface Column {
  readonly name: string;
  /** Heading in the custom resource definition. */
  readonly title?: string;
  readonly type: ColumnType;
  /** Compared as a whole by a filter, which searches other texts. */
  readonly isWhole?: true;
  /** Read from `metadata` alone. */
  readonly isOfMetadata?: true;
  /** Reads the value of an object, null if it has none. */
  read(object: KubernetesObject): Value;
}

/** Returns the members of a column that an answer shows. */
export const shownColumn = ({ name, title, type }: Column): Pick<Column, 'name' | 'title' | 'type'> => ({
  name,
  ...(title !== undefined && { title }),
  type,
});

/** A column of the setting `lists.resources`. */
interface NamedPath {
  name: string;
  jsonPath: string;
  type: ColumnType;
}

const maxText = 256;

export const shownText = (text: string): string => text.slice(0, maxText);

/** Returns the column, undefined for an invalid path or for one that no list may show. */
export function columnOf({ name, jsonPath, type }: NamedPath): Column | undefined {
  const path = parseJSONPath(jsonPath, { hasWholeNames: true });
  if (path === undefined || !isShowable(path)) return undefined;
  return { name, type, ...metadataMark(path), read: (object) => typedValue(type, path.values(object).flatMap(scalars)) };
}

const metadataMark = ({ root }: JSONPath): Pick<Column, 'isOfMetadata'> => (root === 'metadata' ? { isOfMetadata: true } : {});

const scalars = (value: unknown): Exclude<Value, null>[] => (Array.isArray(value) ? value.flatMap(scalar) : scalar(value));

const scalar = (value: unknown): Exclude<Value, null>[] =>
  typeof value === 'string' || typeof value === 'boolean' || isNumber(value) ? [value] : [];

const isNumber = (value: unknown): value is number | bigint => typeof value === 'number' || typeof value === 'bigint';

function typedValue(type: ColumnType, found: readonly Exclude<Value, null>[]): Value {
  const [first] = found;
  if (first === undefined) return null;
  if (type === 'string') return shownText(found.join());
  if (type === 'number') return numberOf(first);
  if (type === 'boolean') return booleanOf(first);
  return dateOf(first);
}

const numberOf = (value: Exclude<Value, null>): number | bigint | null => {
  if (isNumber(value)) return value;
  return value !== '' && Number.isFinite(Number(value)) ? Number(value) : null;
};

/** Parses a boolean. Conditions contain `True` and `False`. */
function booleanOf(value: Exclude<Value, null>): boolean | null {
  const text = String(value).toLowerCase();
  return text === 'true' || (text === 'false' ? false : null);
}

const dateOf = (value: Exclude<Value, null>): string | null => (Number.isNaN(Date.parse(String(value))) ? null : shownText(String(value)));

const printed = z.object({ name: z.string(), type: z.string(), jsonPath: z.string() });
const readDefinition = reader(z.object({ versions: z.array(z.object({ name: z.string(), additionalPrinterColumns: z.array(printed) })) }));

export interface PrinterColumns {
  columns: Column[];
  /** Columns with an invalid path, as `name (path)`. */
  unread: string[];
}

/**
 * Reads the printer columns of a version from a custom resource definition. Columns for name, namespace and age are left out, because every
 * row has them.
 */
export function printerColumns({ spec }: KubernetesObject, version: string): PrinterColumns {
  const { versions = [] } = readDefinition(spec);
  const { additionalPrinterColumns: found = [] } = versions.find(({ name }) => name === version) ?? {};
  const [columns, unread]: [Column[], string[]] = [[], []];
  const names = new Set(reserved);
  for (const { name: title = '', type = '', jsonPath = '' } of found.slice(0, maxColumns)) {
    const path = parseJSONPath(jsonPath);
    if (path === undefined) unread.push(`${title} (${jsonPath})`);
    if (path === undefined || ownPaths.has(jsonPath)) continue;
    const name = uniqueName(camelCase(title), names);
    names.add(name);
    columns.push({ name, title: shownText(title), type: typeOf(type), ...metadataMark(path), read: cellReader(type, path) });
  }
  return { columns, unread };
}

const maxColumns = 64;
const ownPaths = new Set(['.metadata.name', '.metadata.namespace', '.metadata.creationTimestamp']);
/** Names of members that every row has, and the directions of `sortBy`. */
const reserved = ['', 'a', 'd', 'name', 'namespace', 'uid', 'creationTimestamp', 'labels', 'owner'];

function uniqueName(name: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name;
  const base = name === '' ? 'column' : `${name}Column`;
  let free = base;
  for (let number = 2; taken.has(free); number += 1) free = `${base}${number}`;
  return free;
}

const typeOf = (type: string): ColumnType => {
  if (type === 'integer' || type === 'number') return 'number';
  return type === 'date' || type === 'boolean' ? type : 'string';
};

/** Returns a reader of the first value alone, like the cells of `kubectl get`. A value of another type than the column is null. */
function cellReader(type: string, path: JSONPath): Column['read'] {
  const read = cells.get(type) ?? ((value) => printedValue(value, maxText));
  return (object) => {
    const [value] = path.values(object);
    return value === undefined || value === null ? null : read(value);
  };
}

const cells: ReadonlyMap<string, (value: unknown) => Value> = new Map<string, (value: unknown) => Value>([
  ['integer', (value) => (typeof value === 'number' ? Math.trunc(value) : typeof value === 'bigint' ? value : null)],
  ['number', (value) => (isNumber(value) ? value : null)],
  ['boolean', (value) => (typeof value === 'boolean' ? value : null)],
  ['date', (value) => (typeof value === 'string' ? dateOf(value) : null)],
]);

/** Converts `Display Name` to `displayName`, for letters of any script. */
const camelCase = (name: string): string =>
  name
    .slice(0, maxText)
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .filter((word) => word !== '')
    .map((word, index) => (index === 0 ? word.charAt(0).toLowerCase() : word.charAt(0).toUpperCase()) + word.slice(1))
    .join('');

/** Merges columns of the same name: the last one wins, in the place of the first one. */
export const merged = (columns: readonly Column[]): Column[] => [...new Map(columns.map((column) => [column.name, column])).values()];

/** What rows show of an object beside its metadata, and how that is compared. */
import { z } from 'zod';
import { isShowable, parseJSONPath } from '../api/json-path.ts';
import { reader } from '../api/reader.ts';
import type { KubernetesObject } from '../kubernetes/resource.ts';

export type ColumnType = 'string' | 'number' | 'date' | 'boolean';
export type Value = string | number | boolean | null;

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  /** Compared whole by a filter, where other texts are searched. */
  readonly isWhole?: true;
  /** Read from `metadata` alone. */
  readonly isOfMetadata?: true;
  /** Null where the object has no such value. */
  read(object: KubernetesObject): Value;
}

/** As a setting or a custom resource definition names it. */
export interface NamedPath {
  name: string;
  jsonPath: string;
  type: ColumnType;
}

const maxText = 256;

export const shownText = (text: string): string => text.slice(0, maxText);

/** Undefined for a path that is none, or that no list may show. */
export function columnOf({ name, jsonPath, type }: NamedPath): Column | undefined {
  const path = parseJSONPath(jsonPath);
  if (path === undefined || !isShowable(jsonPath)) return undefined;
  const isOfMetadata = path.members[0] === 'metadata';
  return { name, type, ...(isOfMetadata && { isOfMetadata }), read: (object) => typedValue(type, path.values(object)) };
}

function typedValue(type: ColumnType, found: readonly (string | number | boolean)[]): Value {
  const [first] = found;
  if (first === undefined) return null;
  if (type === 'string') return shownText(found.join());
  if (type === 'number') return numberOf(first);
  if (type === 'boolean') return booleanOf(first);
  return Number.isNaN(Date.parse(String(first))) ? null : shownText(String(first));
}

const numberOf = (value: string | number | boolean) => (value !== '' && Number.isFinite(Number(value)) ? Number(value) : null);

/** Conditions say `True` and `False`. */
function booleanOf(value: string | number | boolean): boolean | null {
  const text = String(value).toLowerCase();
  return text === 'true' || (text === 'false' ? false : null);
}

const printed = z.object({ name: z.string(), type: z.string(), jsonPath: z.string() });
const readDefinition = reader(z.object({ versions: z.array(z.object({ name: z.string(), additionalPrinterColumns: z.array(printed) })) }));

/** Those of a custom resource definition, by its printer columns for that version. */
export function printerColumns({ spec }: KubernetesObject, version: string): Column[] {
  const { versions = [] } = readDefinition(spec);
  const { additionalPrinterColumns: found = [] } = versions.find(({ name }) => name === version) ?? {};
  const columns = found.flatMap(({ name, type, jsonPath }) => {
    const column =
      name !== undefined && jsonPath !== undefined && jsonPath !== '.metadata.creationTimestamp'
        ? columnOf({ name: camelCase(name), type: typeOf(type), jsonPath })
        : undefined;
    return column !== undefined && !reserved.has(column.name) ? [column] : [];
  });
  return merged(columns);
}

/** What every row has by itself, and what `sortBy` takes for a direction. */
const reserved = new Set(['', 'a', 'd', 'name', 'namespace', 'uid', 'creationTimestamp', 'labels', 'owner']);

const typeOf = (type: unknown): ColumnType => {
  if (type === 'integer' || type === 'number') return 'number';
  return type === 'date' || type === 'boolean' ? type : 'string';
};

/** `Display Name` as `displayName`. */
const camelCase = (name: string): string =>
  name
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '')
    .map((word, index) => (index === 0 ? word.charAt(0).toLowerCase() : word.charAt(0).toUpperCase()) + word.slice(1))
    .join('');

/** Of the same name the last one counts, at the place of the first. */
export const merged = (columns: readonly Column[]): Column[] => [...new Map(columns.map((column) => [column.name, column])).values()];

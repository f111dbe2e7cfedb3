/** Columns of `kubectl get`: those of the built-in kinds, and those that a definition names by JSONPath. */
import { readFileSync } from 'node:fs';
import { type JSONPath, parseJSONPath } from '@atrium/objects/json-path.ts';
import { type labelSelector, selectorText } from '@atrium/objects/labels.ts';
import { printedValue } from '@atrium/objects/printed-value.ts';
import { parse } from 'yaml';
import type { z } from 'zod';
import { since } from './age.ts';
import { certificateRequestState } from './certificate-requests.ts';
import { eventFormats } from './event-columns.ts';
import { isJsonObject, type KubernetesObject } from './objects.ts';
import type { Column } from './resources.ts';

export const column = (name: string, cell: Column['cell'], rest: Partial<Column> = {}): Column => ({
  name,
  type: 'string',
  priority: 0,
  cell,
  ...rest,
});

export const nameColumn = column('Name', ({ metadata }) => metadata.name, { format: 'name', description: 'Name of the object.' });
const ageColumn = column('Age', ({ metadata }, now) => since(metadata.creationTimestamp, now));

export const orNone = (value: unknown): string => (value === undefined || value === null || value === '' ? '<none>' : String(value));

const size = (value: unknown) => (isJsonObject(value) ? Object.keys(value).length : Array.isArray(value) ? value.length : 0);
const sorted = (labels: unknown) => Object.entries(isJsonObject(labels) ? labels : {}).sort(([a], [b]) => (a < b ? -1 : 1));

/** Formats a selector as kubectl does: labels first, sorted, then expressions. */
function printedSelector(selector: unknown): string {
  const { matchLabels, matchExpressions = [] } = (selector ?? {}) as z.output<typeof labelSelector>;
  const labels = Object.fromEntries(sorted(matchLabels)) as Record<string, string>;
  const expressions = matchExpressions.map((one) => ({ ...one, values: one.values?.toSorted() }));
  return orNone(selectorText({ matchLabels: labels, matchExpressions: expressions }));
}

/** Formats the values of the path of a column. */
type Format = (values: readonly unknown[], object: KubernetesObject, now: Date) => unknown;
export type Formats = Readonly<Record<string, Format>>;

const commonFormats: Formats = {
  text: ([value = '']) => value,
  none: ([value]) => orNone(value),
  unset: ([value = '<unset>']) => String(value),
  count: ([value = 0]) => value,
  true: ([value]) => value === true,
  size: ([value]) => size(value),
  join: (values) => values.join(','),
  since: ([value], _, now) => (value === undefined ? '<none>' : since(value, now)),
  labels: ([value]) =>
    orNone(
      sorted(value)
        .map((entry) => entry.join('='))
        .join(','),
    ),
  selector: ([value]) => printedSelector(value),
  ...eventFormats,
  requestState: (_, object) => certificateRequestState(object),
};

const texts = parse(readFileSync(new URL('../data/columns.yaml', import.meta.url), 'utf8')) as Readonly<Record<string, string>>;
export const kindsWithColumns = Object.keys(texts);

/** @param own formats beside those that kinds share */
export const columnsOf = (kind: string, own: Formats = {}): Column[] =>
  (texts[kind] ?? 'Name, Age').split(', ').map((text) => parseColumn(text, { ...commonFormats, ...own }));

function parseColumn(text: string, formats: Formats): Column {
  if (text === 'Name') return nameColumn;
  if (text === 'Age') return ageColumn;
  const equals = text.indexOf('=');
  const [heading = '', type = 'string'] = text.slice(0, equals).split(':');
  const [name, priority] = heading.endsWith('*') ? [heading.slice(0, -1), 1] : [heading, 0];
  const word = /^\w*/.exec(text.slice(equals + 1))?.[0] ?? '';
  const path = text.slice(equals + 1 + word.length).trimStart();
  const [format, parsed] = [formats[word || 'text'], path === '' ? undefined : parseJSONPath(path)];
  if (format === undefined || (path !== '' && parsed === undefined)) throw new Error(`the column ${text} is not known`);
  const cell: Column['cell'] = (object, now) => format(parsed?.values(object) ?? [], object, now);
  return column(name, cell, { ...(name === 'Name' && nameColumn), type, priority, cell });
}

/** Entry of `additionalPrinterColumns`. */
export interface PrinterColumn {
  name: string;
  type: string;
  format?: string | undefined;
  description?: string | undefined;
  priority?: number | undefined;
  jsonPath: string;
}

/** Returns the dotted path of a JSONPath of keys alone, undefined for any other. */
export function dottedPath(jsonPath: string): string | undefined {
  return /^(\.[A-Za-z_]\w*)+$/.test(jsonPath) ? jsonPath.slice(1) : undefined;
}

/** Returns the columns of a definition. Like the API server, omits all columns from the first whose path cannot be parsed. */
export function definedColumns(columns?: readonly PrinterColumn[]): Column[] {
  if (columns === undefined) return [ageColumn];
  const found = columns.map((each) => ({ each, path: parseJSONPath(each.jsonPath) }));
  const end = found.findIndex(({ path }) => path === undefined);
  return found.slice(0, end < 0 ? found.length : end).flatMap(({ each, path }) => (path ? [definedColumn(each, path)] : []));
}

/** Returns the column with the first value of its path. */
function definedColumn({ name, type, format, description, priority = 0, jsonPath }: PrinterColumn, path: JSONPath): Column {
  return {
    name,
    type,
    priority,
    ...(format && { format }),
    description: description ?? `Custom resource definition column (in JSONPath format): ${jsonPath}`,
    cell: (object, now) => definedCell(type, path.values(object)[0], now),
  };
}

function definedCell(type: string, value: unknown, now: Date): unknown {
  if (value === undefined || value === null) return null;
  switch (type) {
    case 'string':
      return printedValue(value, Number.POSITIVE_INFINITY);
    case 'date':
      return typeof value === 'string' && Number.isNaN(Date.parse(value)) ? '<invalid>' : since(value, now);
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    default:
      return typeof value === 'number' ? (type === 'integer' ? Math.trunc(value) : value) : null;
  }
}

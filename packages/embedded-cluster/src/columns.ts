/** Columns of `kubectl get`: those of the built-in kinds, and those that a definition names by JSONPath. */

import { type JSONPath, parseJSONPath } from '../../../src/api/json-path.ts';
import { printedValue } from '../../../src/api/printed-value.ts';
import { certificateRequestState } from './certificate-requests.ts';
import { isJsonObject, valueAt } from './objects.ts';
import type { Column } from './resources.ts';

/** Formats an age like kubectl: `45s`, `5m`, `2d3h`. */
function humanDuration(milliseconds: number): string {
  const seconds = Math.trunc(milliseconds / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  const minutes = Math.trunc(seconds / 60);
  const hours = Math.trunc(minutes / 60);
  const days = Math.trunc(hours / 24);
  const years = Math.trunc(days / 365);
  const two = (large: number, largeUnit: string, small: number, smallUnit: string) =>
    `${large}${largeUnit}${small ? `${small}${smallUnit}` : ''}`;
  if (seconds < 120) return `${seconds}s`;
  if (minutes < 10) return two(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  if (hours < 8) return two(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  if (days < 8) return two(days, 'd', hours % 24, 'h');
  if (years < 2) return `${days}d`;
  if (years < 8) return two(years, 'y', days % 365, 'd');
  return `${years}y`;
}

export function since(time: unknown, now: Date): string {
  const then = typeof time === 'string' ? Date.parse(time) : Number.NaN;
  return Number.isNaN(then) ? '<unknown>' : humanDuration(now.getTime() - then);
}

export const column = (name: string, cell: Column['cell'], rest: Partial<Column> = {}): Column => ({
  name,
  type: 'string',
  priority: 0,
  cell,
  ...rest,
});

export const nameColumn = column('Name', ({ metadata }) => metadata.name, { format: 'name', description: 'Name of the object.' });
export const ageColumn = column('Age', ({ metadata }, now) => since(metadata.creationTimestamp, now));

const size = (value: unknown) => (isJsonObject(value) ? Object.keys(value).length : Array.isArray(value) ? value.length : 0);

/** Parses columns such as `Reason=.reason Data#=.data`: names with the path of a text or, marked by `#`, of something that is counted. */
const columns = (text: string): Column[] =>
  text.split(' ').map((part) => {
    const [name = '', path = ''] = part.split('=.');
    const shown = (object: unknown) => valueAt(object, path.split('.'));
    return name.endsWith('#') ? column(name.slice(0, -1), (object) => size(shown(object))) : column(name, (object) => shown(object) ?? '');
  });

const bindingColumns = columns('Role=.roleRef.name');

/** Columns between the name and the age: those that users of `kubectl get` look for, not all that an API server shows. */
const builtinColumns: Readonly<Record<string, readonly Column[]>> = {
  namespaces: columns('Status=.status.phase'),
  configmaps: columns('Data#=.data'),
  secrets: columns('Type=.type Data#=.data'),
  events: columns('Type=.type Reason=.reason Kind=.involvedObject.kind Object=.involvedObject.name Message=.message'),
  leases: columns('Holder=.spec.holderIdentity'),
  rolebindings: bindingColumns,
  clusterrolebindings: bindingColumns,
  certificatesigningrequests: [
    ...columns('SignerName=.spec.signerName Requestor=.spec.username'),
    column('Condition', certificateRequestState),
  ],
  validatingadmissionpolicies: columns('Validations#=.spec.validations'),
  validatingadmissionpolicybindings: columns('PolicyName=.spec.policyName'),
};

export const columnsOf = (resource: string) => [nameColumn, ...(builtinColumns[resource] ?? []), ageColumn];

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

/**
 * Fields that a write changed, as its body tells them. A value before the write is shown only where the event knows it: by `changes`, or by
 * a `test` of a JSON Patch, which the API server has compared.
 */

/** A line such as `spec.replicas: 2 → 5`. */
export interface ChangedField {
  field: string;
  /** Undefined if it is not known. */
  before?: string;
  /** Undefined for a field that was removed. */
  after?: string;
}

/** Fields that name the object, and a copy of the whole body that `kubectl apply` keeps. */
const hidden = ['apiVersion', 'kind', 'metadata.name', 'metadata.namespace', 'metadata.uid', 'metadata.resourceVersion'];
const copy = 'kubectl.kubernetes.io/last-applied-configuration';
/** Members of a strategic merge patch that change no value. */
const order = /^\$(?:setElementOrder\/|retainKeys$)/;

/** Members of an event that tell what a write changed. */
interface Told {
  changes?: readonly { field: string; from?: number | undefined; to: number }[] | undefined;
  patchType?: string | undefined;
  requestObject?: string | undefined;
}

/** Returns the changed fields; undefined for a body that is a whole object, or no JSON. */
export function changedFieldsOf({ changes = [], patchType, requestObject = '' }: Told): ChangedField[] | undefined {
  const body = parsed(requestObject);
  if (Array.isArray(body)) return fieldsOfOperations(body);
  if (patchType === undefined || body === null || typeof body !== 'object') return undefined;
  const known = new Map(changes.map(({ field, from }) => [field, from]));
  return fieldsIn(body, '', patchType === 'application/strategic-merge-patch+json').map((line) => {
    const from = known.get(line.field);
    return from === undefined ? line : { ...line, before: textOf(from) };
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns a value as JSON, and a text as it is. */
const textOf = (value: unknown): string => (typeof value === 'string' && value !== '' ? value : JSON.stringify(value));

/** Returns the path of a member: names with other characters are quoted. */
const member = (path: string, name: string): string =>
  /^[\w-]+$/.test(name) ? (path === '' ? name : `${path}.${name}`) : `${path}[${JSON.stringify(name)}]`;

const isObject = (value: unknown): value is Record<string, unknown> => value !== null && typeof value === 'object' && !Array.isArray(value);

/** @param isStrategic true if lists of objects are merged by name */
function fieldsIn(value: unknown, path: string, isStrategic: boolean): ChangedField[] {
  if (hidden.includes(path)) return [];
  if (value === null) return [{ field: path }];
  if (isStrategic && Array.isArray(value) && value.length > 0 && value.every(isNamed))
    return value.flatMap(({ name, ...others }) => {
      const element = `${path}[${name}]`;
      return others.$patch === 'delete' ? [{ field: element }] : fieldsIn(others, element, isStrategic);
    });
  if (!isObject(value) || Object.keys(value).length === 0) return [{ field: path, after: textOf(value) }];
  return Object.entries(value).flatMap(([name, below]) =>
    name === copy || order.test(name) ? [] : fieldsIn(below, member(path, name), isStrategic),
  );
}

const isNamed = (value: unknown): value is Record<string, unknown> & { name: string } => isObject(value) && typeof value.name === 'string';

function fieldsOfOperations(operations: readonly unknown[]): ChangedField[] {
  const tested = new Map<string, unknown>();
  return operations.filter(isObject).flatMap(({ op, path = '', from, value }) => {
    const field = pathOf(path);
    if (op === 'test') {
      tested.set(field, value);
      return [];
    }
    const before = tested.has(field) ? { before: textOf(tested.get(field)) } : {};
    // A value that an operation has set is no longer the one that was tested.
    tested.clear();
    if (op === 'remove') return [{ field, ...before }];
    if (op === 'move' || op === 'copy') return [{ field, after: `${String(op)} ${pathOf(from)}` }];
    return [{ field, ...before, after: textOf(value) }];
  });
}

/** Returns a JSON Pointer as a path. @see RFC 6901 */
const pathOf = (pointer: unknown): string =>
  String(pointer)
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((path, name) => (/^(?:\d+|-)$/.test(name) ? `${path}[${name}]` : member(path, name)), '');

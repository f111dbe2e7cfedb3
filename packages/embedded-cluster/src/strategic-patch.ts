/**
 * Strategic merge patches of the built-in kinds: objects are merged, the lists that a kind names are merged item by item, all others are
 * replaced. Of the directives those work that kubectl writes; any other is refused.
 *
 * @see https://kubernetes.io/docs/reference/using-api/api-concepts/#patch-and-apply
 */

import { isDeepStrictEqual } from 'node:util';
import { badRequest, notImplemented } from '../../../src/api/status.ts';
import { isJsonObject, type JsonObject } from './objects.ts';

/** By dotted path of a list: the field that tells its items apart, empty for a list of plain values. */
export type MergedLists = Readonly<Record<string, string>>;

const deletion = '$deleteFromPrimitiveList/';
const order = '$setElementOrder/';

/** Changes `target`. @throws StatusError 400 or 501 */
export function mergeStrategically(target: JsonObject, patch: JsonObject, lists: MergedLists, path = ''): JsonObject {
  if ('$patch' in patch) return wholePatch(patch);
  for (const [key, value] of Object.entries(patch)) {
    const field = path ? `${path}.${key}` : key;
    if (key.startsWith(deletion)) removeValues(target, key.slice(deletion.length), value);
    // kubectl sends the order along with the items; ours keep the order they have.
    else if (key.startsWith('$') && !key.startsWith(order)) throw notImplemented(`the directive ${key} of strategic merge patches`);
    else if (!key.startsWith('$')) setField(target, key, mergedValue(target[key], value, lists, field));
  }
  return target;
}

function setField(target: JsonObject, key: string, value: unknown): void {
  if (value === null) delete target[key];
  // As a data property, so that a key `__proto__` is a key like any other.
  else Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}

function wholePatch({ $patch, ...rest }: JsonObject): JsonObject {
  if ($patch === 'replace') return rest;
  if ($patch === 'delete') return {};
  throw badRequest(`Unknown patch type found: ${String($patch)}`);
}

function mergedValue(old: unknown, value: unknown, lists: MergedLists, field: string): unknown {
  if (isJsonObject(value)) return mergeStrategically(isJsonObject(old) ? old : {}, value, lists, field);
  const mergeKey = lists[field];
  if (!Array.isArray(value) || mergeKey === undefined) return value;
  const items = Array.isArray(old) ? old : [];
  if (mergeKey === '') return [...items, ...value.filter((item) => !items.some((other) => isDeepStrictEqual(item, other)))];
  return mergedItems(items, value, { mergeKey, lists, field });
}

function mergedItems(
  items: readonly unknown[],
  changes: readonly unknown[],
  { mergeKey, lists, field }: { mergeKey: string; lists: MergedLists; field: string },
): unknown[] {
  const result = [...items];
  for (const change of changes) {
    if (!isJsonObject(change)) throw badRequest(`${field}: the patch has an item that is no object`);
    if (change.$patch === 'replace') return changes.filter((one) => isJsonObject(one) && one.$patch !== 'replace');
    const at = result.findIndex((item) => isJsonObject(item) && item[mergeKey] === change[mergeKey]);
    const current = result[at];
    if (change.$patch === 'delete') result.splice(at, at < 0 ? 0 : 1);
    else if (isJsonObject(current)) result[at] = mergeStrategically(current, change, lists, field);
    else result.push(change);
  }
  return result;
}

function removeValues(target: JsonObject, key: string, values: unknown): void {
  const old = target[key];
  if (!Array.isArray(old) || !Array.isArray(values)) return;
  target[key] = old.filter((item) => !values.some((value) => isDeepStrictEqual(item, value)));
}

/**
 * Strategic merge patches of built-in kinds: lists of named items are merged item by item.
 *
 * @see https://github.com/kubernetes/community/blob/main/contributors/devel/sig-api-machinery/strategic-merge-patch.md
 */
import { badRequest } from '@atrium/objects/status.ts';
import { isJsonObject, type JsonObject } from './objects.ts';

/** The key that names the items of a list, by the name of the list; of several, the one that an item has. */
const mergeKeys: Readonly<Record<string, readonly string[]>> = {
  ...{ containers: ['name'], initContainers: ['name'], ephemeralContainers: ['name'], volumes: ['name'], env: ['name'] },
  ...{ ports: ['containerPort', 'port'], volumeMounts: ['mountPath'], volumeDevices: ['devicePath'], hostAliases: ['ip'] },
  ...{
    imagePullSecrets: ['name'],
    secrets: ['name'],
    ownerReferences: ['uid'],
    conditions: ['type'],
    taints: ['key'],
    addresses: ['type'],
  },
};
/** Lists of texts that are merged as sets. */
const sets = new Set(['finalizers']);

/** Returns the object that the patch makes of `current`, which stays as it is. @throws StatusError 400 */
export function strategicMerged(current: JsonObject, patch: JsonObject): JsonObject {
  const { $patch, $retainKeys, ...members } = patch;
  if ($patch === 'replace') return members;
  const result = Array.isArray($retainKeys) ? only(current, $retainKeys) : { ...current };
  for (const [key, value] of Object.entries(members)) {
    if (key.startsWith('$')) continue;
    if (value === null || (isJsonObject(value) && value.$patch === 'delete')) delete result[key];
    else put(result, key, mergedValue(key, own(result, key), value));
  }
  return followDirectives(result, members);
}

const only = (object: JsonObject, keys: readonly unknown[]): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([key]) => keys.includes(key)));
const own = (object: JsonObject, key: string) => (Object.hasOwn(object, key) ? object[key] : undefined);

/** Sets a data property, so that a key `__proto__` is a key like any other. */
function put(object: JsonObject, key: string, value: unknown): void {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}

function mergedValue(key: string, current: unknown, value: unknown): unknown {
  if (isJsonObject(value)) return strategicMerged(isJsonObject(current) ? current : {}, value);
  return Array.isArray(value) ? mergedList(key, Array.isArray(current) ? current : [], value) : value;
}

function mergedList(key: string, current: readonly unknown[], patch: readonly unknown[]): unknown[] {
  if (sets.has(key)) return [...new Set([...current, ...patch])];
  const names = mergeKeys[key];
  if (names === undefined || !patch.every(isJsonObject)) return [...patch];
  if (patch.some(({ $patch }) => $patch === 'replace')) return patch.filter(({ $patch }) => $patch !== 'replace');
  const merged = patch.reduce<unknown[]>((list, item) => withItem(list, item, nameOf(key, item, names)), [...current]);
  return interleaved(merged, current, patch, names);
}

/** Returns the key of an item, or the item where it has none. */
const keyIn = (names: readonly string[]) => (item: unknown) =>
  isJsonObject(item) ? names.map((name) => item[name]).find((value) => value !== undefined) : item;

/** Items of the patch come first, but for an old item that stands before them. Source: mergeSortedSlice in k8s.io/apimachinery. */
function interleaved(
  merged: readonly unknown[],
  old: readonly unknown[],
  patch: readonly JsonObject[],
  names: readonly string[],
): unknown[] {
  const keyOf = keyIn(names);
  const places = new Map(old.map((item, index) => [keyOf(item), index]));
  const itemsOf = Map.groupBy(merged, keyOf);
  const patched = patch.map(keyOf).filter((key) => itemsOf.has(key));
  const rest = [...itemsOf.keys()].filter((key) => !patched.includes(key));
  const keys: unknown[] = [];
  while (rest.length > 0 && patched.length > 0) {
    const [before, at] = [places.get(rest[0]), places.get(patched[0])];
    keys.push((before !== undefined && at !== undefined && before < at ? rest : patched).shift());
  }
  return [...new Set([...keys, ...patched, ...rest])].flatMap((key) => itemsOf.get(key) ?? []);
}

function nameOf(list: string, item: JsonObject, names: readonly string[]): string {
  const name = names.find((one) => item[one] !== undefined);
  if (name === undefined) throw badRequest(`map: ${JSON.stringify(item)} does not contain declared merge key: ${names[0]} (in ${list})`);
  return name;
}

function withItem(list: readonly unknown[], item: JsonObject, name: string): unknown[] {
  const isSame = (one: unknown) => isJsonObject(one) && one[name] === item[name];
  if (item.$patch === 'delete') return list.filter((one) => !isSame(one));
  if (!list.some(isSame)) return [...list, strategicMerged({}, item)];
  return list.map((one) => (isSame(one) ? strategicMerged(one as JsonObject, item) : one));
}

function followDirectives(result: JsonObject, patch: JsonObject): JsonObject {
  for (const [directive, value] of Object.entries(patch)) {
    const [name, key = ''] = directive.split('/');
    const list = own(result, key);
    if (!Array.isArray(list) || !Array.isArray(value)) continue;
    if (name === '$deleteFromPrimitiveList')
      put(
        result,
        key,
        list.filter((item) => !value.includes(item)),
      );
    if (name === '$setElementOrder') put(result, key, ordered(list, value, mergeKeys[key] ?? []));
  }
  return result;
}

/** Items that the order does not name come last. */
function ordered(list: readonly unknown[], order: readonly unknown[], names: readonly string[]): unknown[] {
  const nameIn = keyIn(names);
  const places = new Map(order.map((item, index) => [nameIn(item), index]));
  const placeOf = (item: unknown) => places.get(nameIn(item)) ?? order.length;
  return list.toSorted((a, b) => placeOf(a) - placeOf(b));
}

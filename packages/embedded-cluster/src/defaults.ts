/** Defaults of kinds, as data. */

import { isJsonObject, type JsonObject, objectsAt } from './objects.ts';

/**
 * Members with their defaults. The name `a?` fills in an object only where it is present, `a[]` each object of a list. The text `=b` copies
 * the member `b` of the object around it, and a function computes a default from that object, undefined for none.
 */
export type Defaults = Readonly<Record<string, unknown>>;

/** Returns the object that a member holds, made if it is missing. */
export function objectIn(parent: JsonObject, key: string): JsonObject {
  const value = parent[key];
  if (isJsonObject(value)) return value;
  const made: JsonObject = {};
  parent[key] = made;
  return made;
}

const computed = (given: unknown, target: JsonObject): unknown => (typeof given === 'function' ? given(target) : given);

/** Fills in members that are missing. */
export function fill(target: JsonObject, defaults: Defaults): void {
  for (const [name, given] of Object.entries(defaults)) {
    const key = name.replace(/(\?|\[\])$/, '');
    const value = typeof given === 'string' && given.startsWith('=') ? target[given.slice(1)] : computed(given, target);
    if (name.endsWith('[]')) for (const member of objectsAt(target, key)) fill(member, value as Defaults);
    else if (name.endsWith('?') && !isJsonObject(target[key])) continue;
    else if (isJsonObject(value)) fill(objectIn(target, key), value);
    else if (value !== undefined) target[key] ??= structuredClone(value);
  }
}

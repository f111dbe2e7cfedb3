import { isDeepStrictEqual } from 'node:util';
import { isMembers } from '@atrium/objects/members.ts';

/** A part that differs between two objects. `from` is missing for a new part, `to` for one that is gone. */
interface ChangedPart {
  readonly path: string;
  readonly from?: unknown;
  readonly to?: unknown;
}

const maxParts = 50;

/** Returns the smallest parts that differ, the first ones of many. */
export function changedParts(before: unknown, after: unknown): readonly ChangedPart[] {
  const parts: ChangedPart[] = [];
  collect(before, after, '', parts);
  return parts;
}

function collect(before: unknown, after: unknown, path: string, parts: ChangedPart[]): void {
  if (parts.length >= maxParts || isDeepStrictEqual(before, after)) return;
  const [left, right] = [membersIn(before), membersIn(after)];
  if (left !== undefined && right !== undefined && Array.isArray(before) === Array.isArray(after)) {
    const at = (key: string) => (Array.isArray(before) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`);
    for (const key of new Set([...left.keys(), ...right.keys()])) collect(left.get(key), right.get(key), at(key), parts);
  } else {
    parts.push({ path, ...(before !== undefined && { from: before }), ...(after !== undefined && { to: after }) });
  }
}

const membersIn = (value: unknown): ReadonlyMap<string, unknown> | undefined =>
  Array.isArray(value) || isMembers(value) ? new Map(Object.entries(value)) : undefined;

/**
 * Objects of the cluster as data for a model. Anyone who may create an object writes its names, annotations and logs, so that no text of it
 * may hide characters, hold a Secret, or fill the answer.
 */
import { isMembers, listOf, type Members, membersOf, textOf } from '@atrium/objects/members.ts';
import { visible, withoutCopies } from '@atrium/objects/shown-object.ts';

/** Returns an answer with visible texts within a number of characters, and the parts that were left out. */
export function shownWithin(value: unknown, maxLength: number): { value: unknown; cuts: readonly Cut[] } {
  const cut = fitted(withoutCopies(value), maxLength);
  // Escapes are longer than their characters. A mebibyte of these, escaped before the first cut, would hold the event loop.
  const escaped = fitted(visible(cut.value), maxLength);
  return { value: escaped.value, cuts: [...cut.cuts, ...escaped.cuts].slice(0, maxCuts) };
}

const bytesOf = (base64: unknown): number => Buffer.byteLength(textOf(base64), 'base64');

const keysOf = (data: Members) => Object.entries(data).map(([key, value]) => ({ key, bytes: bytesOf(value) }));

/** Returns the object; a Secret has the keys and sizes of its values in their place. */
export function withoutSecrets(object: unknown): Members {
  const { data, stringData: _stringData, ...others } = membersOf(object);
  if (others.kind !== 'Secret') return membersOf(object);
  return { ...others, data: keysOf(membersOf(data)) };
}

/** A part of an answer that was left out. */
export interface Cut {
  readonly path: string;
  readonly left: number;
  readonly unit: 'characters' | 'items' | 'members';
}

const lengthOf = (value: unknown): number => JSON.stringify(value)?.length ?? 0;
const maxCuts = 20;

/** Returns the answer within a number of characters, and the parts that were left out. Each member has an equal share. */
function fitted(value: unknown, maxLength: number): { value: unknown; cuts: readonly Cut[] } {
  const cuts: Cut[] = [];
  return { value: fitPart(value, maxLength, '', cuts), cuts };
}

function fitPart(value: unknown, room: number, path: string, cuts: Cut[]): unknown {
  if (lengthOf(value) <= room) return value;
  if (typeof value === 'string') return fitText(value, room, path, cuts);
  if (Array.isArray(value)) return fitItems(value, room, path, cuts);
  return isMembers(value) ? fitMembers(value, room, path, cuts) : value;
}

function fitText(text: string, room: number, path: string, cuts: Cut[]): string {
  const most = Math.max(0, room - 3);
  let kept = text.slice(0, most);
  // Quotes, backslashes and line feeds are two characters in JSON.
  for (let length = lengthOf(kept); length > room && kept !== ''; length = lengthOf(kept))
    kept = kept.slice(0, Math.floor((kept.length * most) / length));
  cuts.push({ path, left: text.length - kept.length, unit: 'characters' });
  return `${kept.toWellFormed()}…`;
}

function fitItems(items: readonly unknown[], room: number, path: string, cuts: Cut[]): unknown[] {
  const kept: unknown[] = [];
  let left = room;
  for (const [index, item] of items.entries()) {
    const fitting = index === 0 ? fitPart(item, left, `${path}[0]`, cuts) : item;
    left -= lengthOf(fitting) + 1;
    if (left < 0 && index > 0) break;
    kept.push(fitting);
  }
  if (kept.length < items.length) cuts.push({ path, left: items.length - kept.length, unit: 'items' });
  return kept;
}

function fitMembers(members: Members, room: number, path: string, cuts: Cut[]): Members {
  const fitting = new Map<string, unknown>();
  let left = room;
  const measured = Object.entries(members).map(([key, member]) => ({ key, member, length: lengthOf(member) }));
  const smallestFirst = measured.toSorted((one, other) => one.length - other.length);
  for (const [index, { key, member }] of smallestFirst.entries()) {
    const share = Math.floor(left / (smallestFirst.length - index)) - key.length - 4;
    if (share <= 0) continue;
    const shown = fitPart(member, share, path === '' ? key : `${path}.${key}`, cuts);
    left -= lengthOf(shown) + key.length + 4;
    fitting.set(key, shown);
  }
  const missing = smallestFirst.length - fitting.size;
  if (missing > 0) cuts.push({ path, left: missing, unit: 'members' });
  return Object.fromEntries(Object.keys(members).flatMap((key) => (fitting.has(key) ? [[key, fitting.get(key)]] : [])));
}

/** Returns a part of an object by its path, such as `spec.template.spec.containers[0]`. */
export function partAt(object: unknown, path: string): unknown {
  const steps = path.split(/[.[\]]+/).filter(Boolean);
  return steps.reduce<unknown>((value, step) => {
    if (Array.isArray(value)) return value[Number(step)];
    return Object.hasOwn(membersOf(value), step) ? membersOf(value)[step] : undefined;
  }, object);
}
/** Returns the conditions of an object, without members that tell a model nothing. */
export const conditionsOf = (object: unknown) =>
  listOf(membersOf(membersOf(object).status).conditions).map(({ type, status, reason, message, lastTransitionTime }) => ({
    ...{ type, status, reason, message, lastTransitionTime },
  }));

/**
 * Rules as tuples: verbs on one resource and name, or on one path. Differences of tuples are exact: as wildcards stand for infinitely many
 * values, a tuple is covered by several others only if one of them covers it.
 */
import type { Slices } from '../kubernetes/slices.ts';
import { type PolicyRule, withoutStars } from './rules.ts';

/** A resource as rules write it, such as `pods/log` or `*\/scale`. An empty name stands for all names. */
interface ResourcePart {
  readonly group: string;
  readonly resource: string;
  readonly name: string;
}

interface PathPart {
  readonly path: string;
}

export type Part = ResourcePart | PathPart;

interface Entry {
  readonly part: Part;
  readonly verbs: Set<string>;
}

/** Tuples of a role, without a namespace. */
export interface Tuples {
  readonly entries: ReadonlyMap<string, Entry>;
  /** Lengths of the beginnings of paths that end in `*`. */
  readonly prefixLengths: ReadonlySet<number>;
}

/** Too many tuples for a difference. */
export class TooManyTuples extends Error {
  override readonly name = 'TooManyTuples';
}

const keyOf = (part: Part): string => ('path' in part ? `path ${part.path}` : `${part.group} ${part.resource} ${part.name}`);

/** Counts the tuples of a rule without making them: one rule can stand for billions. */
export const countTuples = ({ apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): number =>
  apiGroups.length * resources.length * Math.max(1, resourceNames.length) + nonResourceURLs.length;

/** Expands rules, whose tuples must have been counted. */
export async function tuplesOf(rules: readonly PolicyRule[], slices: Slices): Promise<Tuples> {
  const entries = new Map<string, Entry>();
  const prefixLengths = new Set<number>();
  for (const rule of rules) {
    const { verbs } = rule;
    for (const part of partsOf(rule)) {
      const key = keyOf(part);
      const entry = entries.get(key) ?? { part, verbs: new Set<string>() };
      entries.set(key, entry);
      for (const verb of verbs) entry.verbs.add(verb);
      if ('path' in part && part.path.endsWith('*')) prefixLengths.add(part.path.length - 1);
      const turn = slices.end();
      if (turn !== undefined) await turn;
    }
  }
  return { entries, prefixLengths };
}

function* partsOf({ apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): IterableIterator<Part> {
  const names = resourceNames.length === 0 ? [''] : resourceNames;
  for (const group of apiGroups) for (const resource of resources) for (const name of names) yield { group, resource, name };
  // Several stars at the end mean the same as one.
  for (const url of nonResourceURLs) yield { path: url.endsWith('*') ? `${withoutStars(url)}*` : url };
}

/** Removes the verbs that a role allows on the part, `*` only if the role allows all. */
export function removeCovered(verbs: Set<string>, part: Part, { entries, prefixLengths }: Tuples): void {
  for (const key of 'path' in part ? pathKeys(part, prefixLengths) : resourceKeys(part)) {
    const known = entries.get(key)?.verbs;
    if (known === undefined) continue;
    if (known.has('*')) verbs.clear();
    for (const verb of verbs) if (known.has(verb)) verbs.delete(verb);
    if (verbs.size === 0) return;
  }
}

function* resourceKeys({ group, resource, name }: ResourcePart): IterableIterator<string> {
  const slash = resource.indexOf('/');
  const resources = [...new Set([resource, ...(slash < 0 ? [] : [`*${resource.slice(slash)}`]), '*'])];
  const groups = [...new Set([group, '*'])];
  const names = [...new Set([name, ''])];
  for (const one of groups) for (const kind of resources) for (const any of names) yield keyOf({ group: one, resource: kind, name: any });
}

function* pathKeys({ path }: PathPart, prefixLengths: ReadonlySet<number>): IterableIterator<string> {
  yield keyOf({ path });
  const length = path.endsWith('*') ? path.length - 1 : path.length;
  for (const prefix of prefixLengths) if (prefix <= length) yield keyOf({ path: `${path.slice(0, prefix)}*` });
}

/**
 * Differences between what subjects may do, as tuples: verbs on one resource and name, or on one path. Differences of tuples are exact: as
 * wildcards stand for infinitely many values, a tuple is covered by several others only if one of them covers it.
 */
import { Slices } from '../slices.ts';
import { bindingsFor, isMaster, type RbacSubject } from './grants.ts';
import { type PolicyRule, withoutStars } from './rules.ts';
import type { RbacWatch } from './watch.ts';

/** A resource as rules write it, such as `pods/log` or `*\/scale`. An empty name stands for all names. */
interface ResourcePart {
  readonly group: string;
  readonly resource: string;
  readonly name: string;
}

interface PathPart {
  readonly path: string;
}

type Part = ResourcePart | PathPart;

interface Entry {
  readonly part: Part;
  readonly verbs: Set<string>;
}

/** Tuples of a role, without a namespace. */
interface Tuples {
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
const countTuples = ({ apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): number =>
  apiGroups.length * resources.length * Math.max(1, resourceNames.length) + nonResourceURLs.length;

/** Expands rules, whose tuples must have been counted. */
async function tuplesOf(rules: readonly PolicyRule[], slices: Slices): Promise<Tuples> {
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
function removeCovered(verbs: Set<string>, part: Part, { entries, prefixLengths }: Tuples): void {
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

type View = Pick<RbacWatch, 'bindingsOf' | 'roleOf'>;

/** Verbs on a part in a namespace; '' for the whole cluster. */
export interface Tuple {
  readonly namespace: string;
  readonly part: Part;
  readonly verbs: readonly string[];
}

export interface Difference {
  readonly gained: readonly Tuple[];
  readonly lost: readonly Tuple[];
}

/** Names and groups of a subject before and after the change. */
interface Compared {
  readonly before: RbacSubject;
  readonly after: RbacSubject;
}

interface DifferenceBounds {
  /** Bound of the tuples of all differences together. */
  readonly maxTuples: number;
  /** Bound of the bindings of all subjects, which are read at once. */
  readonly maxBindings: number;
}

/** Rules by namespace; '' for the whole cluster. */
type Held = ReadonlyMap<string, ReadonlySet<readonly PolicyRule[]>>;

/** Tuples that are compared, for each tuple of the answer that is permitted. */
const workPerTuple = 5;

/**
 * Compares what subjects may do before and after a change.
 *
 * @returns a difference for each subject, in order
 * @throws TooManyTuples
 */
export async function differences(
  { before, after }: { before: View; after: View },
  subjects: readonly Compared[],
  bounds: DifferenceBounds,
): Promise<Difference[]> {
  // The bindings of all subjects are read at once, because the watched ones may change while the differences are computed.
  let bindings = 0;
  const held = subjects.map((subject) => ({
    before: heldBy(before, subject.before, (count) => (bindings += count)),
    after: heldBy(after, subject.after, (count) => (bindings += count)),
    isAllowedAll: { before: isMaster(subject.before), after: isMaster(subject.after) },
  }));
  const comparison = new Comparison(bounds);
  const found: Difference[] = [];
  for (const { before: old, after: current, isAllowedAll } of held) {
    comparison.require(old, current);
    const gained = isAllowedAll.before ? [] : await comparison.without(current, old);
    const lost = isAllowedAll.after ? [] : await comparison.without(old, current);
    found.push({ gained, lost });
  }
  return found;

  function heldBy(view: View, who: RbacSubject, count: (of: number) => number): Held {
    const rules = new Map<string, Set<readonly PolicyRule[]>>();
    for (const { binding } of bindingsFor(view, who)) {
      if (count(1) > bounds.maxBindings) throw new TooManyTuples();
      const known = rules.get(binding.namespace) ?? new Set();
      rules.set(binding.namespace, known.add(view.roleOf(binding)?.rules ?? []));
    }
    return rules;
  }
}

class Comparison {
  readonly #bounds: DifferenceBounds;
  readonly #slices = new Slices();
  readonly #tuples = new Map<readonly PolicyRule[], Tuples>();
  readonly #counted = new Set<readonly PolicyRule[]>();
  #work = 0;
  #count = 0;

  constructor(bounds: DifferenceBounds) {
    this.#bounds = bounds;
  }

  /** Counts the tuples of all rules of a subject whose rules differ, before they are made. @throws TooManyTuples */
  require(...[left, right]: [Held, Held]): void {
    if (areSame(left, right)) return;
    for (const held of [left, right]) for (const rules of held.values()) for (const one of rules) this.#countRules(one);
  }

  /** Returns the tuples of one side that the other side does not cover. @throws TooManyTuples */
  async without(side: Held, other: Held): Promise<Tuple[]> {
    const found = new Map<string, { namespace: string; part: Part; verbs: Set<string> }>();
    for (const [namespace, rules] of side) {
      const same = other.get(namespace);
      for (const one of rules) if (!same?.has(one)) await this.#addUncovered(found, { namespace, rules: one, other });
    }
    const sorted = [...found].sort(([left], [right]) => (left < right ? -1 : 1));
    return sorted.map(([, { verbs, ...tuple }]) => ({ ...tuple, verbs: [...verbs].sort() }));
  }

  async #addUncovered(
    found: Map<string, { namespace: string; part: Part; verbs: Set<string> }>,
    { namespace, rules, other }: { namespace: string; rules: readonly PolicyRule[]; other: Held },
  ): Promise<void> {
    const covering = await this.#covering(other, namespace);
    const { entries } = await this.#tuplesOf(rules);
    for (const [key, { part, verbs }] of entries) {
      // A RoleBinding allows no paths.
      if ('path' in part && namespace !== '') continue;
      this.#countWork(1);
      const left = new Set(verbs);
      for (const tuples of covering) removeCovered(left, part, tuples);
      if (left.size > 0) this.#add(found, `${namespace} ${key}`, { namespace, part, verbs: left });
      const turn = this.#slices.end();
      if (turn !== undefined) await turn;
    }
  }

  #add<Found extends { verbs: Set<string> }>(found: Map<string, Found>, key: string, added: Found): void {
    const known = found.get(key);
    if (known !== undefined) {
      for (const verb of added.verbs) known.verbs.add(verb);
      return;
    }
    this.#count += 1;
    if (this.#count > this.#bounds.maxTuples) throw new TooManyTuples();
    found.set(key, added);
  }

  async #covering(held: Held, namespace: string): Promise<Tuples[]> {
    const covering: Tuples[] = [];
    for (const scope of new Set(['', namespace])) for (const rules of held.get(scope) ?? []) covering.push(await this.#tuplesOf(rules));
    return covering;
  }

  async #tuplesOf(rules: readonly PolicyRule[]): Promise<Tuples> {
    const known = this.#tuples.get(rules);
    if (known !== undefined) return known;
    const tuples = await tuplesOf(rules, this.#slices);
    this.#tuples.set(rules, tuples);
    return tuples;
  }

  #countRules(rules: readonly PolicyRule[]): void {
    if (this.#counted.has(rules)) return;
    this.#counted.add(rules);
    for (const rule of rules) this.#countWork(countTuples(rule));
  }

  #countWork(count: number): void {
    this.#work += count;
    if (this.#work > this.#bounds.maxTuples * workPerTuple) throw new TooManyTuples();
  }
}

const areSame = (left: Held, right: Held): boolean =>
  left.size === right.size &&
  [...left].every(([namespace, rules]) => {
    const others = right.get(namespace);
    return others?.size === rules.size && [...rules].every((one) => others.has(one));
  });

import { Slices } from '../kubernetes/slices.ts';
import { bindingsFor, isMaster, type RbacSubject } from './grants.ts';
import type { PolicyRule } from './rules.ts';
import { countTuples, type Part, removeCovered, TooManyTuples, type Tuples, tuplesOf } from './tuples.ts';
import type { RbacWatch } from './watch.ts';

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
export interface Compared {
  readonly before: RbacSubject;
  readonly after: RbacSubject;
}

export interface DifferenceBounds {
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

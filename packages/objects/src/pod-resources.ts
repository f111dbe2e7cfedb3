/** Requests and limits of pods, counted like the scheduler. */
import { membersOf } from './members.ts';
import { quantityOf } from './quantity.ts';

/** Amounts by resource: cores, bytes, or a number. */
export type Amounts = Readonly<Record<string, number>>;

type Bound = 'requests' | 'limits';

const amounts = (quantities: unknown): Amounts =>
  Object.fromEntries(Object.entries(membersOf(quantities)).map(([name, quantity]) => [name, quantityOf(String(quantity)) ?? 0]));

export const merged = (a: Amounts, b: Amounts, of: (x: number, y: number) => number): Amounts =>
  Object.fromEntries([...Object.keys(a), ...Object.keys(b)].map((name) => [name, of(a[name] ?? 0, b[name] ?? 0)]));

export const add = (x: number, y: number): number => x + y;
const listed = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/**
 * Computes like the scheduler (KEP-753): a sidecar counts with the containers that start after it. A container without a bound adds nothing,
 * as in `kubectl describe node`.
 */
export function podAmounts(pod: unknown, bound: Bound): Amounts {
  const spec = membersOf(membersOf(pod).spec);
  const own = (holder: unknown): Amounts => amounts(membersOf(membersOf(holder).resources)[bound]);
  let [sidecars, highest]: [Amounts, Amounts] = [{}, {}];
  for (const container of listed(spec.initContainers)) {
    const isSidecar = membersOf(container).restartPolicy === 'Always';
    if (isSidecar) sidecars = merged(sidecars, own(container), add);
    const during = isSidecar ? sidecars : merged(sidecars, own(container), add);
    highest = merged(highest, during, Math.max);
  }
  const containers = listed(spec.containers).reduce<Amounts>((sum, container) => merged(sum, own(container), add), sidecars);
  const whole = { ...merged(highest, containers, Math.max), ...own(spec) };
  const overhead = amounts(spec.overhead);
  // An overhead is added to limits that exist (PodLimits of k8s.io/component-helpers).
  return merged(
    whole,
    bound === 'requests' ? overhead : Object.fromEntries(Object.entries(overhead).filter(([name]) => name in whole)),
    add,
  );
}

/** A finished pod holds no resources. */
export function isFinished(pod: unknown): boolean {
  const { phase } = membersOf(membersOf(pod).status);
  return phase === 'Succeeded' || phase === 'Failed';
}

/** Sums the requests or limits of pods that still run. */
export const sumOfPods = (pods: readonly unknown[], bound: Bound): Amounts =>
  pods.filter((pod) => !isFinished(pod)).reduce<Amounts>((sum, pod) => merged(sum, podAmounts(pod, bound), add), {});

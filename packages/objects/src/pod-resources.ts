/** Requests and limits of pods, counted like the scheduler. */
import { conditionOf, isMembers, listOf, type Members, membersOf } from './members.ts';
import { quantityOf } from './quantity.ts';

/** Amounts by resource: cores, bytes, or a number. */
export type Amounts = Readonly<Record<string, number>>;

type Bound = 'requests' | 'limits';

const amounts = (quantities: unknown): Amounts =>
  Object.fromEntries(Object.entries(membersOf(quantities)).map(([name, quantity]) => [name, quantityOf(String(quantity)) ?? 0]));

export const merged = (a: Amounts, b: Amounts, of: (x: number, y: number) => number): Amounts =>
  Object.fromEntries([...Object.keys(a), ...Object.keys(b)].map((name) => [name, of(a[name] ?? 0, b[name] ?? 0)]));

export const add = (x: number, y: number): number => x + y;

const boundsOf = ({ resources }: Members, bound: Bound): Amounts => amounts(membersOf(resources)[bound]);

/** Returns a function that computes the amounts of a container that runs as long as the pod. */
function runningAmounts(pod: unknown, bound: Bound): (container: Members) => Amounts {
  const { containerStatuses, initContainerStatuses } = membersOf(membersOf(pod).status);
  const statuses = [...listOf(containerStatuses), ...listOf(initContainerStatuses)];
  const isImpossible = conditionOf(pod, 'PodResizePending')?.reason === 'Infeasible';
  return (container) => {
    const wanted = boundsOf(container, bound);
    const status = statuses.find(({ name }) => name === container.name);
    if (!isMembers(status?.resources)) return wanted;
    // KEP-1287: while a container is resized, the greater amount counts. A node that can never give what is wanted keeps what it has given.
    const given = merged(boundsOf(status, bound), bound === 'requests' ? amounts(status.allocatedResources) : {}, Math.max);
    return isImpossible ? given : merged(wanted, given, Math.max);
  };
}

/**
 * Computes like the scheduler (KEP-753): a sidecar counts with the containers that start after it. A container without a bound adds nothing,
 * as in `kubectl describe node`.
 */
export function podAmounts(pod: unknown, bound: Bound): Amounts {
  const spec = membersOf(membersOf(pod).spec);
  const running = runningAmounts(pod, bound);
  let [sidecars, highest]: [Amounts, Amounts] = [{}, {}];
  for (const container of listOf(spec.initContainers)) {
    const isSidecar = container.restartPolicy === 'Always';
    if (isSidecar) sidecars = merged(sidecars, running(container), add);
    const during = isSidecar ? sidecars : merged(sidecars, boundsOf(container, bound), add);
    highest = merged(highest, during, Math.max);
  }
  const containers = listOf(spec.containers).reduce<Amounts>((sum, container) => merged(sum, running(container), add), sidecars);
  const whole = { ...merged(highest, containers, Math.max), ...boundsOf(spec, bound) };
  const overhead = amounts(spec.overhead);
  // An overhead is added to limits other than zero, which bounds nothing (PodLimits of k8s.io/component-helpers).
  return merged(whole, bound === 'requests' ? overhead : Object.fromEntries(Object.entries(overhead).filter(([name]) => whole[name])), add);
}

/** A finished pod holds no resources. */
export function isFinished(pod: unknown): boolean {
  const { phase } = membersOf(membersOf(pod).status);
  return phase === 'Succeeded' || phase === 'Failed';
}

/** Sums the requests or limits of pods that still run. */
export const sumOfPods = (pods: readonly unknown[], bound: Bound): Amounts =>
  pods.filter((pod) => !isFinished(pod)).reduce<Amounts>((sum, pod) => merged(sum, podAmounts(pod, bound), add), {});

import { quantityOf } from '@atrium/objects/quantity.ts';
import { isFinished, type Pod } from './pod-shape.ts';

type Amounts = Readonly<Record<string, number>>;

interface Container {
  restartPolicy?: string;
  resources?: { requests?: Readonly<Record<string, string>> };
}

const amounts = (quantities: Readonly<Record<string, unknown>> = {}): Amounts =>
  Object.fromEntries(Object.entries(quantities).map(([name, quantity]) => [name, quantityOf(String(quantity)) ?? 0]));

const merged = (a: Amounts, b: Amounts, of: (x: number, y: number) => number): Amounts =>
  Object.fromEntries([...Object.keys(a), ...Object.keys(b)].map((name) => [name, of(a[name] ?? 0, b[name] ?? 0)]));

const add = (x: number, y: number) => x + y;
const listed = (value: unknown): readonly Container[] => (Array.isArray(value) ? value : []);
const requestsOf = ({ resources }: Container): Amounts => amounts(resources?.requests);

/** Computes like the scheduler (KEP-753): a sidecar counts with the containers that start after it. */
function podRequests({ spec = {} }: Pod): Amounts {
  let [sidecars, highest]: [Amounts, Amounts] = [{}, {}];
  for (const container of listed(spec.initContainers)) {
    if (container.restartPolicy === 'Always') sidecars = merged(sidecars, requestsOf(container), add);
    const during = container.restartPolicy === 'Always' ? sidecars : merged(sidecars, requestsOf(container), add);
    highest = merged(highest, during, Math.max);
  }
  const containers = listed(spec.containers).reduce((sum, container) => merged(sum, requestsOf(container), add), sidecars);
  const pod = spec.resources as Container['resources'];
  const own = { ...merged(highest, containers, Math.max), ...amounts(pod?.requests) };
  return merged(own, amounts(spec.overhead as Record<string, unknown> | undefined), add);
}

/** Sums the requests of pods that still run, and counts them under `pods`. */
export const requestedBy = (pods: readonly Pod[]): Amounts =>
  pods
    .filter((pod) => !isFinished(pod))
    .map((pod) => ({ ...podRequests(pod), pods: 1 }))
    .reduce<Amounts>((sum, one) => merged(sum, one, add), {});

const binary = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const rounded = (value: number): string => String(Number(value.toPrecision(3)));

/** Prints bytes as `1.5Gi` and processors as `250m`. */
export function quantityText(resource: string, value: number): string {
  const isBytes = /memory|storage|hugepages-/.test(resource);
  if (!isBytes) return resource === 'cpu' && value > 0 && value < 1 ? `${Math.ceil(value * 1000)}m` : String(Number(value.toFixed(2)));
  const power = value < 1024 ? 0 : Math.min(Math.floor(Math.log2(value) / 10), 6);
  const text = value / 1024 ** power;
  return `${text >= 1000 ? Math.round(text) : rounded(text)}${binary[power]}`;
}

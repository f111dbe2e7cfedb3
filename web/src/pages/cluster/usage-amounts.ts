/** Figures of metrics.k8s.io: what containers and nodes use. */

import { quantityOf } from '@atrium/objects/quantity.ts';
import type { Metadata } from '../../api/object-types.ts';

export const measured = ['cpu', 'memory'] as const;
export type Measured = (typeof measured)[number];

export const isMeasured = (resource: string): resource is Measured => (measured as readonly string[]).includes(resource);

/** Cores and bytes. */
export type Amounts = Readonly<Record<Measured, number>>;

export interface Usage extends Amounts {
  /** Containers of a pod by name. */
  containers: ReadonlyMap<string, Amounts>;
}

type Quantities = Readonly<Record<string, string>>;

/** A PodMetrics or a NodeMetrics. */
export interface Metrics {
  metadata: Pick<Metadata, 'name' | 'namespace'>;
  usage?: Quantities;
  containers?: readonly { name: string; usage?: Quantities }[];
}

const amountsIn = (usage: Quantities = {}): Amounts => ({
  cpu: quantityOf(usage.cpu ?? '') ?? 0,
  memory: quantityOf(usage.memory ?? '') ?? 0,
});

/** Metrics have no uid. */
export const usageKey = ({ namespace = '', name }: Pick<Metadata, 'name' | 'namespace'>): string => `${namespace}/${name}`;

const sumOf = (amounts: readonly Amounts[]): Amounts => ({
  cpu: amounts.reduce((sum, { cpu }) => sum + cpu, 0),
  memory: amounts.reduce((sum, { memory }) => sum + memory, 0),
});

/** Returns usage by namespace and name; of a pod, the sum of its containers. */
export const usagesOf = (items: readonly Metrics[]): ReadonlyMap<string, Usage> =>
  new Map(
    items.map(({ metadata, usage, containers = [] }) => {
      const byName = new Map(containers.map((container) => [container.name, amountsIn(container.usage)]));
      return [usageKey(metadata), { ...(usage ? amountsIn(usage) : sumOf([...byName.values()])), containers: byName }];
    }),
  );

type Rows = readonly { metadata: Pick<Metadata, 'name' | 'namespace'> }[];

/** Returns the rows in the order of their usage. Rows without figures come first, as missing cells do. */
export function inOrderOfUsage<T extends Rows[number]>(
  rows: readonly T[],
  usages: ReadonlyMap<string, Usage>,
  { by, isDescending }: { by: Measured; isDescending: boolean },
): readonly T[] {
  const usageIn = (row: T) => usages.get(usageKey(row.metadata))?.[by] ?? -1;
  const direction = isDescending ? -1 : 1;
  return rows.toSorted((a, b) => direction * (usageIn(a) - usageIn(b)));
}

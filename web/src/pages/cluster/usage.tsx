import { apiPath, type Kind } from '../../api/kinds';
import { useLoad } from '../../api/load';
import { getJson } from '../../api/objects';
import { usePoll } from '../../api/poll';
import { usageRight } from '../../app/list-rights';
import { may, useRights } from '../../app/rights';
import { sortIn } from '../../ui/sort';
import type { Column, Sort } from '../../ui/table';
import { quantity, titleOf } from './quantity';
import { inOrderOfUsage, type Metrics, measured, type Usage, usageKey, usagesOf } from './usage-amounts';

/** Metrics-server measures every 15 s by default. */
const everyMs = 20_000;

interface UsageQuery {
  kinds: readonly Kind[];
  /** The kind whose usage is asked for; kinds without metrics have none. */
  of: Pick<Kind, 'group' | 'resource'>;
  namespace?: string | undefined;
  name?: string | undefined;
  labelSelector?: string;
}

export type Usages = ReadonlyMap<string, Usage>;

/** Reads usage by one list, again and again. Undefined where the cluster has no metrics, or the caller may not list them. */
export function useUsages({ kinds, of, namespace, name, labelSelector = '' }: UsageQuery): Usages | undefined {
  const kind = kinds.find(({ group, resource }) => group === 'metrics.k8s.io' && resource === of.resource);
  const right = usageRight(of, namespace, name);
  useRights(kind && right ? [right] : []);
  const path = kind && right && may(right) === true ? apiPath(kind, { namespace }) : undefined;
  const query = new URLSearchParams({ ...(labelSelector && { labelSelector }), ...(name && { fieldSelector: `metadata.name=${name}` }) });
  const load = useLoad(path && `usage/${path}?${query}`, async (signal) =>
    usagesOf((await getJson<{ items?: readonly Metrics[] | null }>(`${path}?${query}`, signal)).items ?? []),
  );
  usePoll(load, everyMs);
  // An old figure would look like a current one.
  return load.error.value ? undefined : load.data.value;
}

interface Listed {
  metadata: { name: string; namespace?: string };
}

const prefix = 'usage.';

/** Columns of usage. @param isSorted unset: the order of the list is not of the page's making */
export const usageColumns = <T extends Listed>(usages: Usages | undefined, isSorted = true): Column<T>[] =>
  usages === undefined
    ? []
    : measured.map((resource) => ({
        ...{ id: `usage-${resource}`, title: titleOf(resource), isMinor: true, isNumber: true },
        ...(isSorted && { sortBy: `${prefix}${resource}` }),
        cell({ metadata }) {
          const usage = usages.get(usageKey(metadata));
          return usage && quantity(resource, usage[resource]);
        },
      }));

const sortable = measured.map((resource) => prefix + resource);

/** Returns the order of an address that names a usage. */
export function usageSortIn(query: URLSearchParams): Sort | undefined {
  const sort = sortIn(query, ['', ...sortable]);
  return sort.by === '' ? undefined : sort;
}

/** Returns the rows in the order of usage, if that is the order. */
export function sortedByUsage<T extends Listed>(rows: readonly T[], usages: Usages | undefined, sort: Sort): readonly T[] {
  const by = measured.find((resource) => sort.by === prefix + resource);
  return by && usages ? inOrderOfUsage(rows, usages, { by, isDescending: sort.isDescending }) : rows;
}

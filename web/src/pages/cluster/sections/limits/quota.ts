/** Quotas and limits of a namespace as rows. Kubernetes API: core/v1, ResourceQuota and LimitRange. */

import { quantityOf } from '@atrium/objects/quantity.ts';
import type { ClusterObject } from '../../../../api/object-types.ts';

type Quantities = Readonly<Record<string, string>>;

export interface QuotaRow {
  resource: string;
  hard: string;
  /** Unset until the quota controller has counted. */
  used?: string;
  /** 0 where one of the figures cannot be compared. */
  usedValue: number;
  hardValue: number;
}

const quantitiesIn = (value: unknown): Quantities => (typeof value === 'object' && value !== null ? (value as Quantities) : {});

/** Lists the resources of a quota by name. */
export function quotaRows({ spec, status }: ClusterObject): QuotaRow[] {
  const [hard, used] = [quantitiesIn(spec?.hard), quantitiesIn(status?.used)];
  return Object.keys(hard)
    .sort()
    .map((resource) => ({
      ...{ resource, hard: String(hard[resource]), hardValue: quantityOf(String(hard[resource])) ?? 0 },
      usedValue: quantityOf(String(used[resource])) ?? 0,
      ...(used[resource] !== undefined && { used: String(used[resource]) }),
    }));
}

const bounds = ['min', 'max', 'defaultRequest', 'default', 'maxLimitRequestRatio'] as const;
type Bound = (typeof bounds)[number];

export type LimitRow = { type: string; resource: string } & Readonly<Partial<Record<Bound, string>>>;

/** Lists what a LimitRange sets, a row for each type and resource. */
export function limitRows({ spec }: ClusterObject): LimitRow[] {
  const limits = (Array.isArray(spec?.limits) ? spec.limits : []) as readonly (Partial<Record<Bound, Quantities>> & { type: string })[];
  return limits.flatMap((limit) => {
    const resources = new Set(bounds.flatMap((bound) => Object.keys(limit[bound] ?? {})));
    return [...resources].sort().map((resource) => {
      const set = bounds.flatMap((bound) =>
        limit[bound]?.[resource] === undefined ? [] : [[bound, String(limit[bound][resource])] as const],
      );
      return { type: limit.type, resource, ...Object.fromEntries(set) };
    });
  });
}

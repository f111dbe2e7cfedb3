/** Metrics of a HorizontalPodAutoscaler. Kubernetes API: autoscaling/v2. */

import { quantityOf } from '@atrium/objects/quantity.ts';
import type { ClusterObject } from '../../../../api/object-types.ts';

interface Figures {
  averageUtilization?: number;
  averageValue?: string;
  value?: string;
}

interface Source {
  name?: string;
  container?: string;
  metric?: { name: string };
  describedObject?: { kind: string; name: string };
  target?: Figures;
  current?: Figures;
}

type Metric = { type: string } & Readonly<Record<string, unknown>>;

export interface MetricRow {
  id: string;
  name: string;
  /** `averageUtilization` is a percentage of requests. */
  target: string;
  /** Unset until the autoscaler has read it. */
  current?: string;
  currentValue: number;
  targetValue: number;
}

function sourceOf(metric: Metric): Source {
  const source = metric[metric.type.slice(0, 1).toLowerCase() + metric.type.slice(1)];
  return typeof source === 'object' && source !== null ? source : {};
}

function nameOf({ name, container, metric, describedObject: object }: Source): string {
  const parts = [name ?? metric?.name, container && `(${container})`, object && `${object.kind}/${object.name}`];
  return parts.filter(Boolean).join(' ');
}

/** A current metric may hold utilization beside the value that the target is about. */
function figure(
  { averageUtilization, averageValue, value }: Figures = {},
  isUtilization = averageUtilization !== undefined,
): string | undefined {
  if (!isUtilization) return averageValue ?? value;
  return averageUtilization === undefined ? undefined : `${averageUtilization} %`;
}

const amount = (text = ''): number => quantityOf(text.replace(' %', '')) ?? 0;

/** Pairs targets with current figures: the status leaves metrics out that could not be read. */
export function metricRows({ spec, status }: ClusterObject): MetricRow[] {
  const listed = (value: unknown) => (Array.isArray(value) ? (value as Metric[]) : []);
  const idOf = (metric: Metric) => `${metric.type} ${nameOf(sourceOf(metric))}`;
  const current = new Map(listed(status?.currentMetrics).map((metric) => [idOf(metric), sourceOf(metric).current ?? {}]));
  return listed(spec?.metrics).map((metric) => {
    const { target = {}, ...source } = sourceOf(metric);
    const now = current.get(idOf(metric));
    const shown = figure(now, target.averageUtilization !== undefined);
    const [wanted = '', id] = [figure(target), idOf(metric)];
    return {
      ...{ id, name: nameOf(source), target: wanted, currentValue: amount(shown), targetValue: amount(wanted) },
      ...(shown !== undefined && { current: shown }),
    };
  });
}

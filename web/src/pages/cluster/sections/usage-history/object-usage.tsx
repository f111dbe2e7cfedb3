/** Usage over time on the pages of pods, workloads, namespaces and nodes. */
import { quantityOf } from '@atrium/objects/quantity.ts';
import { api, bodyOf } from '../../../../api/client';
import type { ClusterObject } from '../../../../api/objects';
import { type Amounts, measured } from '../../usage-amounts';
import { requestedBy } from '../pod/requests';
import type { Section, SectionProps } from '../section';
import { metricsRight } from './metrics-right';
import { type Bounds, UsageHistory, type UsageMark } from './usage-history';

interface Container {
  name: string;
  resources?: { limits?: Readonly<Record<string, string>> };
}

/** Returns the sum of the limits. A container without one has none, and then nothing limits the pod. */
function limitsOf(containers: readonly Container[]): Partial<Amounts> {
  const sums = measured.flatMap((resource) => {
    const amounts = containers.map(({ resources }) => quantityOf(resources?.limits?.[resource] ?? ''));
    return amounts.length === 0 || amounts.includes(undefined)
      ? []
      : [[resource, amounts.reduce<number>((sum, one) => sum + (one ?? 0), 0)]];
  });
  return Object.fromEntries(sums) as Partial<Amounts>;
}

function boundsOf(spec: Readonly<Record<string, unknown>>, copies: number): Bounds {
  const times = (amounts: Partial<Amounts>) =>
    Object.fromEntries(measured.flatMap((resource) => (amounts[resource] ? [[resource, amounts[resource] * copies]] : [])));
  const request = requestedBy([{ metadata: { name: '' }, spec } as ClusterObject]) as Partial<Amounts>;
  return { request: times(request), limit: times(limitsOf((spec.containers ?? []) as readonly Container[])) };
}

interface Status {
  name: string;
  state?: { running?: { startedAt?: string } };
  lastState?: { terminated?: { finishedAt?: string; reason?: string } };
}

/** Returns the starts and last ends of the containers of a pod. */
function marksOf({ status = {} }: ClusterObject): UsageMark[] {
  const statuses = (status.containerStatuses ?? []) as readonly Status[];
  return statuses.flatMap(({ name, state, lastState }) => {
    const [startedAt, ended] = [state?.running?.startedAt, lastState?.terminated];
    return [
      ...(ended?.finishedAt
        ? [{ time: Date.parse(ended.finishedAt) / 1000, colour: 'bad' as const, text: `${name}: ${ended.reason ?? ''}` }]
        : []),
      ...(startedAt && ended ? [{ time: Date.parse(startedAt) / 1000, colour: 'muted' as const, text: `${name}: Started` }] : []),
    ];
  });
}

type Resource = 'pods' | 'deployments' | 'replicasets' | 'statefulsets' | 'daemonsets' | 'jobs';

const objectUsage = (resource: Resource, namespace: string, name: string) => ({
  id: `${resource}/${namespace}/${name}`,
  fetch: (range: '1h' | '6h' | '1d' | '7d', signal: AbortSignal) =>
    bodyOf(
      api.GET('/api/v2/usage/namespaces/{namespace}/{resource}/{name}', {
        params: { path: { namespace, resource, name }, query: { range } },
        signal,
      }),
    ),
});

function PodUsage({ object }: SectionProps) {
  const { name, namespace = '' } = object.metadata;
  return (
    <UsageHistory
      {...objectUsage('pods', namespace, name)}
      right={metricsRight('get', 'pods', { namespace, name })}
      bounds={boundsOf(object.spec ?? {}, 1)}
      marks={marksOf(object)}
    />
  );
}

function WorkloadUsage({ kind, object: { metadata, spec = {}, status = {} } }: SectionProps) {
  const { name, namespace = '' } = metadata;
  const template = (spec.template ?? {}) as { spec?: Readonly<Record<string, unknown>> };
  const copies = Number(spec.replicas ?? status.desiredNumberScheduled ?? 1);
  return (
    <UsageHistory
      {...objectUsage(kind.resource as Resource, namespace, name)}
      right={metricsRight('list', 'pods', { namespace })}
      bounds={boundsOf(template.spec ?? {}, copies)}
    />
  );
}

function NamespaceUsage({ object: { metadata } }: SectionProps) {
  const namespace = metadata.name;
  return (
    <UsageHistory
      id={`namespaces/${namespace}`}
      fetch={(range, signal) =>
        bodyOf(api.GET('/api/v2/usage/namespaces/{namespace}', { params: { path: { namespace }, query: { range } }, signal }))
      }
      right={metricsRight('list', 'pods', { namespace })}
    />
  );
}

function NodeUsage({ object: { metadata, status = {} } }: SectionProps) {
  const { name } = metadata;
  const allocatable = (status.allocatable ?? {}) as Readonly<Record<string, string>>;
  const capacity = Object.fromEntries(measured.map((resource) => [resource, quantityOf(allocatable[resource] ?? '') ?? 0]));
  return (
    <UsageHistory
      id={`nodes/${name}`}
      fetch={(range, signal) => bodyOf(api.GET('/api/v2/usage/nodes/{name}', { params: { path: { name }, query: { range } }, signal }))}
      right={metricsRight('get', 'nodes', { name })}
      bounds={{ capacity }}
    />
  );
}

const title = 'usage.overTime' as const;
export const podUsage: Section = { title, View: PodUsage };
export const workloadUsage: Section = { title, View: WorkloadUsage };
export const namespaceUsage: Section = { title, View: NamespaceUsage };
export const nodeUsage: Section = { title, View: NodeUsage };

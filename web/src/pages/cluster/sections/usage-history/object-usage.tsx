/** Usage over time on the pages of pods, workloads, namespaces and nodes. */
import { type NamingWorkload, namedAfter } from '@atrium/objects/pod-names.ts';
import { quantityOf } from '@atrium/objects/quantity.ts';
import { api, bodyOf } from '../../../../api/client';
import type { ClusterObject } from '../../../../api/objects';
import { type Amounts, measured } from '../../usage-amounts';
import { requestedBy } from '../pod/requests';
import type { Section, SectionProps } from '../section';
import { metricsRight } from './metrics-right';
import { type Bounds, UsageHistory } from './usage-history';
import { type EventsOf, restartsOf, useEventMarks } from './usage-marks';
import { useRestarts } from './use-restarts';

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

const objectUsage = (resource: 'pods' | NamingWorkload, namespace: string, name: string) => ({
  id: `${resource}/${namespace}/${name}`,
  fetch: (range: '1h' | '6h' | '1d' | '7d', signal: AbortSignal) =>
    bodyOf(
      api.GET('/api/v2/usage/namespaces/{namespace}/{resource}/{name}', {
        params: { path: { namespace, resource, name }, query: { range } },
        signal,
      }),
    ),
});

/** Returns the events of an object, and of those that are named after it. */
function eventsAbout({ kind, metadata: { name, namespace = 'default' } }: ClusterObject, resource?: NamingWorkload): EventsOf {
  if (resource === undefined) return { namespace, fieldSelector: `involvedObject.kind=${kind},involvedObject.name=${name}` };
  const isBelow = namedAfter(resource, name);
  return {
    namespace,
    fits: ({ involvedObject: of = {} }) => (of.kind === kind && of.name === name) || isBelow(of.kind ?? '', of.name ?? ''),
  };
}

function PodUsage({ object }: SectionProps) {
  const { name, namespace = '' } = object.metadata;
  return (
    <UsageHistory
      {...objectUsage('pods', namespace, name)}
      right={metricsRight('get', 'pods', { namespace, name })}
      bounds={boundsOf(object.spec ?? {}, 1)}
      events={useEventMarks(eventsAbout(object))}
      restarts={restartsOf(object)}
    />
  );
}

interface PodTemplate {
  spec?: Readonly<Record<string, unknown>>;
}

/** Returns the template of the pods of a workload, and how many of them its figures are for. */
function copiesOf({ spec = {}, status = {} }: ClusterObject): { template: PodTemplate; copies: number } {
  const jobs = spec.jobTemplate as { spec?: { parallelism?: number; template?: PodTemplate } } | undefined;
  if (jobs !== undefined)
    return { template: jobs.spec?.template ?? {}, copies: ((status.active ?? []) as unknown[]).length * (jobs.spec?.parallelism ?? 1) };
  const template = (spec.template ?? {}) as PodTemplate;
  // A Job that has ended requests nothing.
  const isJob = spec.backoffLimit !== undefined || spec.parallelism !== undefined;
  return { template, copies: Number(isJob ? (status.active ?? 0) : (spec.replicas ?? status.desiredNumberScheduled ?? 1)) };
}

function WorkloadUsage({ kind, object }: SectionProps) {
  const { name, namespace = '' } = object.metadata;
  const resource = kind.resource as NamingWorkload;
  const { template, copies } = copiesOf(object);
  return (
    <UsageHistory
      {...objectUsage(resource, namespace, name)}
      right={metricsRight('list', 'pods', { namespace })}
      bounds={boundsOf(template.spec ?? {}, copies)}
      events={useEventMarks(eventsAbout(object, resource))}
      restarts={useRestarts(kind, object)}
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
      events={useEventMarks({ namespace, fieldSelector: 'type=Warning' })}
    />
  );
}

function NodeUsage({ object }: SectionProps) {
  const { metadata, status = {} } = object;
  const { name } = metadata;
  const allocatable = (status.allocatable ?? {}) as Readonly<Record<string, string>>;
  const capacity = Object.fromEntries(measured.map((resource) => [resource, quantityOf(allocatable[resource] ?? '') ?? 0]));
  return (
    <UsageHistory
      id={`nodes/${name}`}
      fetch={(range, signal) => bodyOf(api.GET('/api/v2/usage/nodes/{name}', { params: { path: { name }, query: { range } }, signal }))}
      right={metricsRight('get', 'nodes', { name })}
      bounds={{ capacity }}
      events={useEventMarks(eventsAbout(object))}
    />
  );
}

const title = 'usage.overTime' as const;
export const podUsage: Section = { title, View: PodUsage };
export const workloadUsage: Section = { title, View: WorkloadUsage };
export const namespaceUsage: Section = { title, View: NamespaceUsage };
export const nodeUsage: Section = { title, View: NodeUsage };

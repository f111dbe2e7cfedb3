/**
 * Queries of usage in PromQL, made from names alone. Label values are quoted, and names in regular expressions escaped.
 *
 * @see https://prometheus.io/docs/prometheus/latest/querying/basics/
 * @see https://github.com/google/cadvisor/blob/master/docs/storage/prometheus.md
 */
import { podNames } from '@atrium/objects/pod-names.ts';
import type { PodsTarget } from './schema.ts';

/** Queries of one history; each returns at most one series. @param window of rates, such as `5m` */
export type Series = Readonly<Record<'cpu' | 'memory' | 'count' | 'measured', (window: string) => string>>;

/** Quotes a text as a string of PromQL. */
const quoted = (text: string): string => `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;

/** cAdvisor does not know the labels of pods. */
const podMatcher = (of: NonNullable<PodsTarget['of']>): string =>
  of.resource === 'pods' ? `pod=${quoted(of.name)}` : `pod=~${quoted(podNames(of.resource, of.name))}`;

const cpuCounter = 'container_cpu_usage_seconds_total';
const workingSet = 'container_memory_working_set_bytes';
/** Containers alone: cAdvisor also counts their pods, and the pause containers. */
const containers = 'container!="",container!="POD"';

/** Returns the queries of all pods of a namespace, or of those of an object. */
export function podSeries(namespace: string, of?: PodsTarget['of']): Series {
  const selected = [`namespace=${quoted(namespace)}`, ...(of ? [podMatcher(of)] : []), containers].join();
  return {
    cpu: (window) => `sum(rate(${cpuCounter}{${selected}}[${window}]))`,
    memory: () => `sum(${workingSet}{${selected}})`,
    count: () => `count(count by (namespace,pod) (${workingSet}{${selected}}))`,
    // Prometheus measured containers at that time, so that a missing pod did not run.
    measured: () => `count(${workingSet}{${containers}})`,
  };
}

/** Returns the queries of a node, or of all: the root cgroup of cAdvisor, otherwise node_exporter. */
export function nodeSeries(name?: string): Series {
  const root = name === undefined ? ['id="/"'] : [`id="/",node=${quoted(name)}`, `id="/",instance=${quoted(name)}`];
  const uname = name === undefined ? 'node_uname_info' : `node_uname_info{nodename=${quoted(name)}}`;
  const exporter = (value: string) => `((${value}) * on (instance) group_left () max by (instance) (${uname}))`;
  const either = (aggregate: string, ofRoot: (selected: string) => string, other: string) =>
    [...root.map(ofRoot), exporter(other)].map((query) => `${aggregate}(${query})`).join(' or ');
  const free = 'max by (instance) (node_memory_MemTotal_bytes - node_memory_MemAvailable_bytes)';
  const memory = (aggregate: string) => either(aggregate, (selected) => `${workingSet}{${selected}}`, free);
  return {
    cpu: (window) =>
      either(
        'sum',
        (selected) => `rate(${cpuCounter}{${selected}}[${window}])`,
        `sum by (instance) (rate(node_cpu_seconds_total{mode!="idle",mode!="iowait"}[${window}]))`,
      ),
    memory: () => memory('sum'),
    count: () => memory('count'),
    // Without a figure nothing is known: a node that exists is never at zero.
    measured: () => memory('count'),
  };
}

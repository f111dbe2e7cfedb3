/** Samples as cAdvisor and node_exporter give them, for a week, once a minute. */

const minute = 60;
export const hour = 60 * minute;
const week = 7 * 24 * hour;

/** Labels of a series, with a function of the time that gives its value; undefined without a sample at that time. */
interface Series {
  labels: Readonly<Record<string, string>>;
  value(time: number): number | undefined;
}

/** A container, or the cgroup of a pod without a name. */
interface Container {
  namespace?: string;
  pod: string;
  container: string;
  /** Cores, also by the time. */
  cpu: number | ((time: number) => number);
  memory: number;
  /** First time. */
  since?: number;
}

const text = (name: string, { labels, value }: Series, times: readonly number[]): string => {
  const selected = Object.entries(labels).map(([key, content]) => `${key}="${content}"`);
  const lines = times.map((time) => [value(time), time] as const).filter(([found]) => found !== undefined);
  return lines.map(([found, time]) => `${name}{${selected}} ${found} ${time}\n`).join('');
};

/** Adds up a rate that changes at full minutes. */
function counter(rate: number | ((time: number) => number), since: number): Series['value'] {
  if (typeof rate === 'number') return (time) => (time < since ? undefined : rate * (time - since));
  let [total, last] = [0, since];
  return (time) => {
    if (time < since) return undefined;
    for (; last < time; last += minute) total += rate(last) * minute;
    return total;
  };
}

/**
 * Writes the samples of a cluster in the text format of OpenMetrics.
 *
 * @param end time of the last sample in seconds, a full minute
 * @param isDown tells the times at which Prometheus took no samples
 */
export function samplesOf(
  { containers, roots, machines }: { containers: readonly Container[]; roots: readonly Series['labels'][]; machines: readonly string[] },
  { end, isDown }: { end: number; isDown: (time: number) => boolean },
): string {
  const begin = end - week - 2 * hour;
  const times = Array.from({ length: (end - begin) / minute + 1 }, (_, index) => begin + index * minute).filter((time) => !isDown(time));
  const labelsOf = ({ namespace = 'shop', pod, container }: Container) => ({
    namespace,
    pod,
    container,
    id: `/kubepods/${pod}/${container}`,
  });
  const cpu = [
    ...containers.map((of) => ({ labels: labelsOf(of), value: counter(of.cpu, of.since ?? begin) })),
    ...roots.map((labels) => ({ labels: { id: '/', ...labels }, value: counter(2, begin) })),
  ];
  const memory = [
    ...containers.map((of) => ({ labels: labelsOf(of), value: (time: number) => (time < (of.since ?? begin) ? undefined : of.memory) })),
    ...roots.map((labels) => ({ labels: { id: '/', ...labels }, value: () => 4096 })),
  ];
  const ofMachines = (more: Record<string, string>, value: (time: number) => number) =>
    machines.map((name) => ({ labels: { instance: `${name}:9100`, ...more }, value }));
  const family = (name: string, type: 'counter' | 'gauge', series: readonly Series[]) =>
    `# TYPE ${name} ${type}\n${series.map((one) => text(type === 'counter' ? `${name}_total` : name, one, times)).join('')}`;
  return [
    family('container_cpu_usage_seconds', 'counter', cpu),
    family('container_memory_working_set_bytes', 'gauge', memory),
    family('node_cpu_seconds', 'counter', [
      ...ofMachines({ cpu: '0', mode: 'user' }, (time) => 0.25 * (time - begin)),
      ...ofMachines({ cpu: '1', mode: 'system' }, (time) => 0.5 * (time - begin)),
      ...ofMachines({ cpu: '1', mode: 'idle' }, (time) => 3 * (time - begin)),
      ...ofMachines({ cpu: '1', mode: 'iowait' }, (time) => 5 * (time - begin)),
    ]),
    family(
      'node_memory_MemTotal_bytes',
      'gauge',
      ofMachines({}, () => 9000),
    ),
    family(
      'node_memory_MemAvailable_bytes',
      'gauge',
      ofMachines({}, () => 6000),
    ),
    family(
      'node_uname_info',
      'gauge',
      machines.map((name) => ({ labels: { instance: `${name}:9100`, nodename: name }, value: () => 1 })),
    ),
    '# EOF\n',
  ].join('');
}

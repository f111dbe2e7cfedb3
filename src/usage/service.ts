import type { Caller } from '@atrium/http/caller.ts';
import type { AccessReviews } from '@atrium/kubernetes/access.ts';
import { timestamp, timestampOf } from '@atrium/kubernetes/clock.ts';
import type { KubernetesClient } from '@atrium/kubernetes/kubernetes-client.ts';
import { CallerResource } from '@atrium/kubernetes/resource-client.ts';
import { labelSelector, selectorText } from '@atrium/objects/labels.ts';
import { namedAfter } from '@atrium/objects/pod-names.ts';
import { partsOf } from '@atrium/objects/reader.ts';
import { parseLabelSelector } from '@atrium/objects/selectors.ts';
import { badParameter } from '@atrium/objects/status.ts';
import type { Services } from '../services.ts';
import type { UsageBounds } from './bounds.ts';
import type { Prometheus } from './prometheus.ts';
import { nodeSeries, podSeries, type Series } from './queries.ts';
import { type Absence, type Measured, type PodsTarget, type Range, ranges, type UsageHistory, workloadGroups } from './schema.ts';
import type { UsagePoll } from './usage-poll.ts';
import { pointCount, pointMs, type Sample, type UsagePoint } from './usage-ring.ts';

export interface NodesTarget {
  /** Default: all nodes. */
  name?: string;
  range: Range;
}

type Fits = (key: string, labels: Sample['labels']) => boolean;

interface Sources {
  poll: UsagePoll;
  /** Undefined without `console.metrics.prometheus`. */
  prometheus: Prometheus | undefined;
  bounds: UsageBounds;
}

const messages: Readonly<Record<Absence, string>> = {
  NotKept: 'usage is not kept: set console.metrics.lastHour or console.metrics.prometheus',
  NotMeasuredYet: 'this replica has not measured yet; try again in a minute',
  NotInstalled: 'the cluster does not serve metrics.k8s.io; install metrics-server',
  RightsMissing: "the service's account may not list the metrics; apply deploy/manifests/usage.yaml, or set rbac.create in the chart",
  TooMany: 'the cluster has more pods than this service measures; set console.metrics.prometheus',
  Unavailable: 'metrics.k8s.io did not answer; the service tries again by itself',
};

/** Answers usage over time: the last hour from the memory of this replica after a review of the caller, longer ranges from Prometheus. */
export class UsageService {
  readonly #access: AccessReviews;
  readonly #apiServer: KubernetesClient;
  readonly #now: () => Date;
  readonly #sources: Sources;

  constructor({ access, apiServer, now }: Services, sources: Sources) {
    this.#access = access;
    this.#apiServer = apiServer;
    this.#now = now;
    this.#sources = sources;
  }

  /** @throws StatusError 400, 403, 404, 429, 503, 504 */
  async nodes(target: NodesTarget, caller: Caller, signal: AbortSignal): Promise<UsageHistory> {
    const history = await this.#ofNodes(target, caller, signal);
    const bounds = await this.#sources.bounds.of(target.name === undefined ? {} : { node: target.name }, caller, signal);
    return { ...history, bounds };
  }

  /** @throws StatusError 400, 403, 404, 429, 503, 504 */
  async namespace(namespace: string, range: Range, caller: Caller, signal: AbortSignal): Promise<UsageHistory> {
    const history = await this.pods({ namespace, range }, caller, signal);
    return { ...history, bounds: await this.#sources.bounds.of({ namespace }, caller, signal) };
  }

  /** @throws StatusError 400, 403, 404, 429, 503, 504 */
  async pods({ namespace, range, of }: PodsTarget, caller: Caller, signal: AbortSignal): Promise<UsageHistory> {
    const poll = this.#pollFor(range);
    if (poll === undefined) return this.#fromPrometheus(podSeries(namespace, of), range, caller, signal);
    const name = of?.resource === 'pods' ? of.name : undefined;
    await this.#require(caller, { resource: 'pods', namespace, ...(name !== undefined && { name }) }, signal);
    const isOwn = await this.#fits(of, { namespace, caller, signal });
    const prefix = `${namespace}/`;
    return this.#lastHour(poll, 'pods', (key, labels) => key.startsWith(prefix) && isOwn(key.slice(prefix.length), labels));
  }

  async #ofNodes({ name, range }: NodesTarget, caller: Caller, signal: AbortSignal): Promise<UsageHistory> {
    const poll = this.#pollFor(range);
    if (poll === undefined) return this.#fromPrometheus(nodeSeries(name), range, caller, signal);
    await this.#require(caller, { resource: 'nodes', ...(name !== undefined && { name }) }, signal);
    return this.#lastHour(poll, 'nodes', (key) => name === undefined || key === name);
  }

  /** Returns the poll for its range, undefined if Prometheus is asked. @throws StatusError 400 */
  #pollFor(range: Range): UsagePoll | undefined {
    const { poll, prometheus } = this.#sources;
    if (range === '1h' && (poll.isKept || prometheus === undefined)) return poll;
    if (prometheus === undefined)
      throw badParameter('range', 'must be 1h, because console.metrics.prometheus is not set', 'FieldValueNotSupported');
    return undefined;
  }

  #require(caller: Caller, target: { resource: Measured; namespace?: string; name?: string }, signal: AbortSignal): Promise<void> {
    const verb = target.name === undefined ? 'list' : 'get';
    return this.#access.require(caller, { verb, group: 'metrics.k8s.io', ...target }, signal);
  }

  /** Returns the pods of an object. A workload is read with the rights of the caller. @throws StatusError 403, 404, 503, 504 */
  async #fits(
    of: PodsTarget['of'],
    { namespace, caller, signal }: { namespace: string; caller: Caller; signal: AbortSignal },
  ): Promise<Fits> {
    if (of === undefined) return () => true;
    if (of.resource === 'pods') return (name) => name === of.name;
    const type = { group: workloadGroups[of.resource], version: 'v1', resource: of.resource };
    const workload = new CallerResource(this.#apiServer.asCaller(caller), { type, kind: of.resource, namespace });
    const found = await workload.get(of.name, signal);
    // A CronJob has no selector.
    if (of.resource === 'cronjobs') {
      const isOwn = namedAfter(of.resource, of.name);
      return (name) => isOwn('Pod', name);
    }
    const selector = labelSelector.safeParse(partsOf(found).spec?.selector);
    const text = selector.success ? selectorText(selector.data) : '';
    if (text === '') return () => false;
    const matches = parseLabelSelector(text);
    return (_name, labels) => matches(labels);
  }

  #lastHour(poll: UsagePoll, resource: Measured, fits: Fits): UsageHistory {
    const ring = poll.rings[resource];
    const now = this.#now();
    const start = ((Math.floor(now.getTime() / pointMs) - pointCount + 1) * pointMs) / 1000;
    const absence = poll.absence(resource);
    return {
      ...this.#head('metrics-server', '1h'),
      ...{ start: timestampOf(start), end: timestamp(now), stepSeconds: pointMs / 1000 },
      ...(ring.since !== undefined && ring.since > start && { since: timestampOf(ring.since) }),
      ...(absence !== undefined && { unavailable: { reason: absence, message: messages[absence] } }),
      points: ring.sums(now, fits).map(shown),
    };
  }

  async #fromPrometheus(series: Series, range: Range, caller: Caller, signal: AbortSignal): Promise<UsageHistory> {
    const { prometheus } = this.#sources;
    if (prometheus === undefined) throw badParameter('range', 'is not offered');
    const { start, end, stepSeconds, points } = await prometheus.history(series, { range, caller, signal });
    return {
      ...this.#head('prometheus', range),
      ...{ start: timestampOf(start), end: timestampOf(end), stepSeconds, points: points.map(shown) },
    };
  }

  #head(source: UsageHistory['source'], range: Range) {
    const offered = this.#sources.prometheus === undefined ? ranges.slice(0, 1) : [...ranges];
    return { apiVersion: 'auth.platform.io/v1', kind: 'UsageHistory', source, range, ranges: offered } as const;
  }
}

/** Digits of a Float32, in which the figures are kept: more would be noise. */
const digits = 7;

const shown = ({ time, count, cpu, memory }: UsagePoint): UsageHistory['points'][number] => ({
  ...{ time: timestampOf(time), count },
  cpu: cpu === null ? null : Number(cpu.toPrecision(digits)),
  memory: memory === null ? null : Math.round(memory),
});

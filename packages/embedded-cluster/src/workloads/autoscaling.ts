/**
 * The controller of HorizontalPodAutoscalers: replicas follow the usage of the pods, within their bounds.
 *
 * @see https://kubernetes.io/docs/concepts/workloads/autoscaling/horizontal-pod-autoscale/
 */

import { quantityOf } from '@atrium/objects/quantity.ts';
import type { Component } from '../component.ts';
import { timestamp } from '../objects.ts';
import { amountOf, measure } from './metrics.ts';
import { collections, conditionSince, hasLabels, type Pod, type ReplicaSet, type Scaler, type ScalerMetric } from './shapes.ts';

/** The period of kube-controller-manager. */
const periodMs = 15_000;
/** Fewer replicas wait longer than upstream's five minutes would be in a demo. */
const scaleDownMs = 60_000;
const tolerance = 0.1;

const targets: Readonly<Record<string, string>> = {
  ...{ Deployment: collections.deployments, StatefulSet: collections.statefulSets, ReplicaSet: collections.replicaSets },
};

type Verdict = [type: string, isTrue: boolean, reason: string, message: string];

interface Outcome {
  verdicts: Verdict[];
  replicas?: number;
  desired?: number;
  metrics?: object[];
}

export function reconcileScaler(component: Component, scaler: Scaler): number {
  const { kind, name } = scaler.spec.scaleTargetRef;
  const collection = targets[kind];
  const target = collection === undefined ? undefined : component.get<ReplicaSet>(collection, `${scaler.metadata.namespace}/${name}`);
  if (collection === undefined || target === undefined) {
    const message = `the HPA controller was unable to get the target's current scale: ${kind} "${name}" not found`;
    writeStatus(component, scaler, { verdicts: [['AbleToScale', false, 'FailedGetScale', message]] });
    return periodMs;
  }
  const { replicas } = target.spec;
  const { wanted, title, verdicts, metrics } = propose(component, scaler, target);
  if (wanted === undefined) {
    const able: Verdict = ['AbleToScale', true, 'SucceededGetScale', "the HPA controller was able to get the target's current scale"];
    writeStatus(component, scaler, { replicas, verdicts: [able, ...verdicts], metrics });
    return periodMs;
  }
  const desired = wanted < replicas && isTooSoon(component, scaler) ? replicas : wanted;
  if (desired !== replicas) {
    component.update(collection, { ...target, spec: { ...target.spec, replicas: desired } });
    const reason = desired > replicas ? `${title} above target` : 'All metrics below target';
    component.event(scaler, 'Normal', 'SuccessfulRescale', `New size: ${desired}; reason: ${reason}`);
  }
  writeStatus(component, scaler, { replicas, desired, metrics, verdicts: [ability(wanted, desired, replicas), ...verdicts] });
  return periodMs;
}

function ability(wanted: number, desired: number, replicas: number): Verdict {
  if (desired !== replicas)
    return ['AbleToScale', true, 'SucceededRescale', `the HPA controller was able to update the target scale to ${desired}`];
  const stabilized = 'recent recommendations were higher than current one, applying the highest recent recommendation';
  if (wanted !== replicas) return ['AbleToScale', true, 'ScaleDownStabilized', stabilized];
  return ['AbleToScale', true, 'ReadyForNewScale', 'recommended size matches current size'];
}

interface Proposal {
  /** Unset: no metric tells. */
  wanted?: number;
  /** The metric that decides. */
  title?: string;
  metrics: object[];
  verdicts: Verdict[];
}

const inactive = (reason: string, message: string): Proposal => ({ metrics: [], verdicts: [['ScalingActive', false, reason, message]] });

function propose(component: Component, scaler: Scaler, target: ReplicaSet): Proposal {
  const { replicas } = target.spec;
  if (replicas === 0) return inactive('ScalingDisabled', 'scaling is disabled since the replica count of the target is zero');
  const found = (scaler.spec.metrics ?? []).flatMap((metric) => measuredMetric(component, target, metric) ?? []);
  // Pods that do not run yet have no usage, and count for nothing.
  const proposals = found.map(({ ratio, pods }) => (Math.abs(ratio - 1) <= tolerance ? replicas : Math.ceil(pods * ratio)));
  const proposed = Math.max(...proposals);
  const { title } = found[proposals.indexOf(proposed)] ?? found[0] ?? {};
  if (title === undefined) {
    const why = 'failed to get cpu utilization: unable to get metrics for resource cpu: no metrics returned from resource metrics API';
    return inactive('FailedGetResourceMetric', `the HPA was unable to compute the replica count: ${why}`);
  }
  const [wanted, reason, message] = within(scaler, replicas, proposed);
  const verdicts: Verdict[] = [
    ['ScalingActive', true, 'ValidMetricFound', `the HPA was able to successfully calculate a replica count from ${title}`],
    ['ScalingLimited', reason !== 'DesiredWithinRange', reason, message],
  ];
  return { wanted, title, verdicts, metrics: found.map(({ current }) => current) };
}

/** Source: convertDesiredReplicasWithRules in kubernetes/pkg/controller/podautoscaler. */
function within({ spec }: Scaler, replicas: number, proposed: number): [wanted: number, reason: string, message: string] {
  const { minReplicas = 1, maxReplicas } = spec;
  const fastest = Math.max(2 * replicas, 4);
  if (proposed < minReplicas) return [minReplicas, 'TooFewReplicas', 'the desired replica count is less than the minimum replica count'];
  if (proposed <= Math.min(maxReplicas, fastest))
    return [proposed, 'DesiredWithinRange', 'the desired count is within the acceptable range'];
  return maxReplicas > fastest
    ? [fastest, 'ScaleUpLimit', 'the desired replica count is increasing faster than the maximum scale rate']
    : [maxReplicas, 'TooManyReplicas', 'the desired replica count is more than the maximum replica count'];
}

/** Returns the usage of the running pods by its target, undefined if no metric tells. */
function measuredMetric(component: Component, { metadata, spec }: ReplicaSet, { resource }: ScalerMetric) {
  if (resource?.name !== 'cpu' && resource?.name !== 'memory') return undefined;
  const { name, target } = resource;
  const running = measure(component.list<Pod>(collections.pods, metadata.namespace), component.now());
  const pods = running.filter(({ pod }) => hasLabels(pod, spec.selector.matchLabels));
  if (pods.length === 0) return undefined;
  const used = pods.flatMap(({ containers }) => containers).reduce((sum, { usage }) => sum + usage[name], 0);
  const requested = pods.flatMap(({ pod }) => pod.spec.containers).reduce((sum, one) => sum + amountOf(one, 'requests', name), 0);
  const [average, percent] = [used / pods.length, Math.round((used / requested) * 100)];
  const averageValue = name === 'cpu' ? `${Math.round(average * 1000)}m` : `${Math.round(average / 1024 ** 2)}Mi`;
  const isUtilization = target.averageUtilization !== undefined;
  const wanted = quantityOf(target.averageValue ?? '') ?? Number.POSITIVE_INFINITY;
  return {
    pods: pods.length,
    ratio: isUtilization ? percent / Number(target.averageUtilization) : average / wanted,
    title: `${name} resource${isUtilization ? ' utilization (percentage of request)' : ''}`,
    current: { type: 'Resource', resource: { name, current: { ...(isUtilization && { averageUtilization: percent }), averageValue } } },
  };
}

const isTooSoon = (component: Component, { metadata, status }: Scaler): boolean =>
  component.now().getTime() - Date.parse(status?.lastScaleTime ?? metadata.creationTimestamp) < scaleDownMs;

function writeStatus(component: Component, scaler: Scaler, { verdicts, replicas = 0, desired = replicas, metrics = [] }: Outcome): void {
  const now = component.now();
  const lastScaleTime = desired === replicas ? scaler.status?.lastScaleTime : timestamp(now);
  const conditions = verdicts.map(([type, isTrue, reason, message]) =>
    conditionSince(scaler.status?.conditions, { type, status: isTrue ? 'True' : 'False', reason, message }, now),
  );
  component.setStatus(collections.scalers, scaler, {
    ...{ currentReplicas: replicas, desiredReplicas: desired, currentMetrics: metrics.length > 0 ? metrics : null },
    ...{ conditions, ...(lastScaleTime && { lastScaleTime }) },
  });
}

/**
 * The controller of HorizontalPodAutoscalers: replicas follow the usage of the pods, within their bounds.
 *
 * @see https://kubernetes.io/docs/concepts/workloads/autoscaling/horizontal-pod-autoscale/
 */

import { quantityOf } from '../../../../src/api/printed-value.ts';
import type { Component } from '../component.ts';
import { timestamp } from '../objects.ts';
import { amountOf, measure } from './metrics.ts';
import { type Condition, collections, conditionOf, type Pod, type ReplicaSet, type Scaler, type ScalerMetric } from './shapes.ts';

/** The period of kube-controller-manager. */
const periodMs = 15_000;
/** Fewer replicas wait longer than upstream's five minutes would be in a demo. */
const scaleDownMs = 60_000;
const tolerance = 0.1;

const targets: Readonly<Record<string, string>> = {
  ...{ Deployment: collections.deployments, StatefulSet: collections.statefulSets, ReplicaSet: collections.replicaSets },
};

export function reconcileScaler(component: Component, key: string): number | undefined {
  const scaler = component.get<Scaler>(collections.scalers, key);
  if (scaler === undefined || scaler.metadata.deletionTimestamp !== undefined) return undefined;
  const { kind, name } = scaler.spec.scaleTargetRef;
  const collection = targets[kind];
  const target = collection === undefined ? undefined : component.get<ReplicaSet>(collection, `${scaler.metadata.namespace}/${name}`);
  if (collection === undefined || target === undefined) {
    const message = `the HPA controller was unable to get the target's current scale: ${kind} "${name}" not found`;
    writeStatus(component, scaler, { conditions: [['AbleToScale', false, 'FailedGetScale', message]] });
    return periodMs;
  }
  const { replicas } = target.spec;
  const proposal = propose(component, scaler, target);
  const able: Verdict = ['AbleToScale', true, 'SucceededGetScale', "the HPA controller was able to get the target's current scale"];
  if (proposal.wanted === undefined) {
    writeStatus(component, scaler, { replicas, conditions: [able, ...proposal.conditions], metrics: proposal.metrics });
    return periodMs;
  }
  const desired = isTooSoon(component, scaler, proposal.wanted < replicas) ? replicas : proposal.wanted;
  if (desired !== replicas) rescale(component, scaler, { collection, target, desired, title: proposal.title ?? '' });
  writeStatus(component, scaler, {
    ...{ replicas, desired, metrics: proposal.metrics },
    conditions: [ability(proposal.wanted, desired, replicas), ...proposal.conditions],
    isScaled: desired !== replicas,
  });
  return periodMs;
}

type Verdict = [type: string, isTrue: boolean, reason: string, message: string];

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
  conditions: Verdict[];
}

function propose(component: Component, scaler: Scaler, target: ReplicaSet): Proposal {
  const { replicas } = target.spec;
  if (replicas === 0) {
    const message = 'scaling is disabled since the replica count of the target is zero';
    return { metrics: [], conditions: [['ScalingActive', false, 'ScalingDisabled', message]] };
  }
  const found = (scaler.spec.metrics ?? []).flatMap((metric) => measuredMetric(component, target, metric) ?? []);
  const [first] = found;
  if (first === undefined) {
    const why = 'no metrics returned from resource metrics API';
    const message = `the HPA was unable to compute the replica count: failed to get cpu utilization: unable to get metrics for resource cpu: ${why}`;
    return { metrics: [], conditions: [['ScalingActive', false, 'FailedGetResourceMetric', message]] };
  }
  // Pods that do not run yet have no usage, and count for nothing.
  const proposals = found.map(({ ratio, pods }) => (Math.abs(ratio - 1) <= tolerance ? replicas : Math.ceil(pods * ratio)));
  const proposed = Math.max(...proposals);
  const decisive = found[proposals.indexOf(proposed)] ?? first;
  const [wanted, reason, message] = within(scaler, replicas, proposed);
  const active = `the HPA was able to successfully calculate a replica count from ${decisive.title}`;
  const conditions: Verdict[] = [
    ['ScalingActive', true, 'ValidMetricFound', active],
    ['ScalingLimited', reason !== 'DesiredWithinRange', reason, message],
  ];
  return { wanted, title: decisive.title, metrics: found.map(({ current }) => current), conditions };
}

/** Source: convertDesiredReplicasWithRules in kubernetes/pkg/controller/podautoscaler. */
function within({ spec }: Scaler, replicas: number, proposed: number): [wanted: number, reason: string, message: string] {
  const { minReplicas = 1, maxReplicas } = spec;
  const fastest = Math.max(2 * replicas, 4);
  if (proposed < minReplicas) return [minReplicas, 'TooFewReplicas', 'the desired replica count is less than the minimum replica count'];
  if (proposed > Math.min(maxReplicas, fastest))
    return maxReplicas > fastest
      ? [fastest, 'ScaleUpLimit', 'the desired replica count is increasing faster than the maximum scale rate']
      : [maxReplicas, 'TooManyReplicas', 'the desired replica count is more than the maximum replica count'];
  return [proposed, 'DesiredWithinRange', 'the desired count is within the acceptable range'];
}

interface Measured {
  /** Running pods. */
  pods: number;
  /** Usage by its target. */
  ratio: number;
  title: string;
  current: object;
}

function measuredMetric(component: Component, { metadata, spec }: ReplicaSet, { resource }: ScalerMetric): Measured | undefined {
  if (resource === undefined || (resource.name !== 'cpu' && resource.name !== 'memory')) return undefined;
  const { name, target } = resource;
  const wanted = Object.entries(spec.selector.matchLabels ?? {});
  const isSelected = (pod: Pod) => wanted.every(([key, value]) => pod.metadata.labels?.[key] === value);
  const pods = measure(component.list<Pod>(collections.pods, metadata.namespace), component.now()).filter(({ pod }) => isSelected(pod));
  if (pods.length === 0) return undefined;
  const used = pods.flatMap(({ containers }) => containers).reduce((sum, { usage }) => sum + usage[name], 0);
  const requested = pods.flatMap(({ pod }) => pod.spec.containers).reduce((sum, one) => sum + amountOf(one, 'requests', name), 0);
  const [average, percent] = [used / pods.length, Math.round((used / requested) * 100)];
  const averageValue = name === 'cpu' ? `${Math.round(average * 1000)}m` : `${Math.round(average / 1024 ** 2)}Mi`;
  const isUtilization = target.averageUtilization !== undefined;
  return {
    pods: pods.length,
    ratio: isUtilization
      ? percent / Number(target.averageUtilization)
      : average / (quantityOf(target.averageValue ?? '') ?? Number.POSITIVE_INFINITY),
    title: `${name} resource${isUtilization ? ' utilization (percentage of request)' : ''}`,
    current: { type: 'Resource', resource: { name, current: { ...(isUtilization && { averageUtilization: percent }), averageValue } } },
  };
}

function isTooSoon(component: Component, { metadata, status }: Scaler, isFewer: boolean): boolean {
  const since = Date.parse(status?.lastScaleTime ?? metadata.creationTimestamp);
  return isFewer && component.now().getTime() - since < scaleDownMs;
}

function rescale(
  component: Component,
  scaler: Scaler,
  { collection, target, desired, title }: { collection: string; target: ReplicaSet; desired: number; title: string },
) {
  component.update(collection, { ...target, spec: { ...target.spec, replicas: desired } });
  const reason = desired > target.spec.replicas ? `${title} above target` : 'All metrics below target';
  component.event(scaler, 'Normal', 'SuccessfulRescale', `New size: ${desired}; reason: ${reason}`);
}

interface Outcome {
  replicas?: number;
  desired?: number;
  metrics?: object[];
  conditions: Verdict[];
  isScaled?: boolean;
}

function writeStatus(
  component: Component,
  scaler: Scaler,
  { replicas = 0, desired = replicas, metrics = [], conditions, isScaled }: Outcome,
): void {
  const now = timestamp(component.now());
  const old = scaler.status;
  const conditionOfVerdict = ([type, isTrue, reason, message]: Verdict): Condition => {
    const status = isTrue ? 'True' : 'False';
    const before = conditionOf(old?.conditions, type);
    return { type, status, reason, message, lastTransitionTime: before?.status === status ? (before.lastTransitionTime ?? now) : now };
  };
  const lastScaleTime = isScaled ? now : old?.lastScaleTime;
  component.setStatus(collections.scalers, scaler, {
    ...{ currentReplicas: replicas, desiredReplicas: desired, currentMetrics: metrics.length > 0 ? metrics : null },
    ...{ conditions: conditions.map(conditionOfVerdict), ...(lastScaleTime && { lastScaleTime }) },
  });
}

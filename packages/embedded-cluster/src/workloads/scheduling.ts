/** The scheduler: gives a pod a node, or says why none fits. */

import type { Component } from '../component.ts';
import { timestamp } from '../objects.ts';
import { pinnedNode } from './owned-pods.ts';
import { type Condition, collections, conditionOf, type Node, type Pod } from './shapes.ts';

export function schedule(scheduler: Component, pod: Pod): void {
  const nodes = scheduler.list<Node>(collections.nodes);
  const pinned = pinnedNode(pod);
  const labelled = nodes.filter(
    (node) => hasLabels(node, pod.spec.nodeSelector ?? {}) && (pinned === undefined || pinned === node.metadata.name),
  );
  const isTolerant = toleratesCordon(pod);
  const fitting = labelled.filter(({ spec }) => isTolerant || spec.unschedulable !== true);
  if (fitting.length > 0) {
    bind(scheduler, pod, leastUsed(scheduler, fitting));
    return;
  }
  const cordoned = labelled.length;
  const reasons = [
    ...(cordoned > 0 ? [`${cordoned} node(s) were unschedulable`] : []),
    ...(nodes.length > cordoned ? [`${nodes.length - cordoned} node(s) didn't match Pod's node affinity/selector`] : []),
  ];
  const message = `0/${nodes.length} nodes are available: ${reasons.join(', ') || 'no nodes available to schedule pods'}.`;
  const waiting: Condition = {
    type: 'PodScheduled',
    status: 'False',
    reason: 'Unschedulable',
    message,
    lastTransitionTime: timestamp(scheduler.now()),
  };
  if (conditionOf(pod.status.conditions, 'PodScheduled')?.message === message) return;
  scheduler.setStatus(collections.pods, pod, { ...pod.status, conditions: [waiting] });
  scheduler.event(pod, 'Warning', 'FailedScheduling', message);
}

/** Pods of DaemonSets run on cordoned nodes, too. */
const toleratesCordon = ({ spec }: Pod) =>
  ((spec.tolerations as { key?: string }[] | undefined) ?? []).some(({ key }) => key === 'node.kubernetes.io/unschedulable');

const hasLabels = ({ metadata }: Node, wanted: Record<string, string>) =>
  Object.entries(wanted).every(([key, value]) => metadata.labels?.[key] === value);

function leastUsed(scheduler: Component, nodes: readonly Node[]): string {
  const pods = scheduler.list<Pod>(collections.pods);
  const count = ({ metadata }: Node) => pods.filter(({ spec }) => spec.nodeName === metadata.name).length;
  return nodes.toSorted((a, b) => count(a) - count(b))[0]?.metadata.name ?? '';
}

function bind(scheduler: Component, pod: Pod, nodeName: string): void {
  const time = timestamp(scheduler.now());
  const bound = scheduler.bind(collections.pods, pod, nodeName);
  const conditions: Condition[] = [{ type: 'PodScheduled', status: 'True', lastTransitionTime: time }];
  scheduler.setStatus(collections.pods, bound, { ...bound.status, conditions, startTime: time });
  scheduler.event(pod, 'Normal', 'Scheduled', `Successfully assigned ${pod.metadata.namespace}/${pod.metadata.name} to ${nodeName}`);
}

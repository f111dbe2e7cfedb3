/** The scheduler: gives a pod a node, or says why none fits. */

import type { Component } from '../component.ts';
import { keyOf, objectsAt, timestamp } from '../objects.ts';
import { pinnedNode } from './owned-pods.ts';
import { collections, conditionOf, conditionSince, hasLabels, type Node, type Pod } from './shapes.ts';

export function schedule(scheduler: Component, pod: Pod): undefined {
  const nodes = scheduler.list<Node>(collections.nodes);
  const pinned = pinnedNode(pod) ?? '';
  const labelled = nodes.filter((node) => hasLabels(node, pod.spec.nodeSelector) && ['', node.metadata.name].includes(pinned));
  const fitting = labelled.filter(({ spec }) => spec.unschedulable !== true || toleratesCordon(pod));
  const now = scheduler.now();
  if (fitting.length > 0) {
    const nodeName = leastUsed(scheduler, fitting);
    const bound = scheduler.bind(collections.pods, pod, nodeName);
    const conditions = [conditionSince([], { type: 'PodScheduled', status: 'True' }, now)];
    scheduler.setStatus(collections.pods, bound, { ...bound.status, conditions, startTime: timestamp(now) });
    scheduler.event(pod, 'Normal', 'Scheduled', `Successfully assigned ${keyOf(pod)} to ${nodeName}`);
    return;
  }
  const message = whyPending(nodes.length, labelled.length);
  if (conditionOf(pod.status.conditions, 'PodScheduled')?.message === message) return;
  const waiting = conditionSince([], { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }, now);
  scheduler.setStatus(collections.pods, pod, { ...pod.status, conditions: [waiting] });
  scheduler.event(pod, 'Warning', 'FailedScheduling', message);
}

function whyPending(nodes: number, cordoned: number): string {
  const reasons = [
    ...(cordoned > 0 ? [`${cordoned} node(s) were unschedulable`] : []),
    ...(nodes > cordoned ? [`${nodes - cordoned} node(s) didn't match Pod's node affinity/selector`] : []),
  ];
  return `0/${nodes} nodes are available: ${reasons.join(', ') || 'no nodes available to schedule pods'}.`;
}

/** Pods of DaemonSets run on cordoned nodes, too. */
const toleratesCordon = ({ spec }: Pod) => objectsAt(spec, 'tolerations').some(({ key }) => key === 'node.kubernetes.io/unschedulable');

function leastUsed(scheduler: Component, nodes: readonly Node[]): string {
  const pods = scheduler.list<Pod>(collections.pods);
  const count = ({ metadata }: Node) => pods.filter(({ spec }) => spec.nodeName === metadata.name).length;
  return nodes.toSorted((a, b) => count(a) - count(b))[0]?.metadata.name ?? '';
}

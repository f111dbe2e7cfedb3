/**
 * Evictions, and the PodDisruptionBudgets that they obey.
 *
 * @see https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/
 */
import { selectorText } from '@atrium/objects/labels.ts';
import { isRecord } from '@atrium/objects/reader.ts';
import { parseLabelSelector } from '@atrium/objects/selectors.ts';
import { StatusError } from '@atrium/objects/status.ts';
import { getObject } from '../backend.ts';
import type { Component } from '../component.ts';
import { deleteObject, deleteOptions } from '../delete.ts';
import { requiredObject, sendJson } from '../exchange.ts';
import { at, objectsAt, type StoredObject } from '../objects.ts';
import type { Backend, Exchange, Target } from '../resources.ts';
import { type Condition, collections, conditionSince, isActive, isReady, type Pod } from './shapes.ts';

function covers(budget: StoredObject, { metadata }: StoredObject): boolean {
  const selector = at(budget, 'spec.selector') as Parameters<typeof selectorText>[0] | undefined;
  return selector !== undefined && parseLabelSelector(selectorText(selector))(metadata.labels ?? {});
}

const amountOf = (value: unknown, expected: number): number =>
  typeof value === 'string' ? Math.ceil((Number.parseInt(value, 10) / 100) * expected) : Number(value ?? 0);

/** Counts the pods of a budget, in the members of its status. */
function countsOf(budget: StoredObject, pods: readonly Pod[]) {
  const covered = pods.filter((pod) => isActive(pod) && covers(budget, pod));
  const expectedPods = covered.length;
  const currentHealthy = covered.filter(isReady).length;
  const [least, most] = [at(budget, 'spec.minAvailable'), at(budget, 'spec.maxUnavailable')];
  const desiredHealthy = most === undefined ? amountOf(least, expectedPods) : Math.max(0, expectedPods - amountOf(most, expectedPods));
  return { currentHealthy, desiredHealthy, disruptionsAllowed: Math.max(0, currentHealthy - desiredHealthy), expectedPods };
}

/** The disruption controller: keeps the counts of a budget. */
export function reconcileBudget(component: Component, budget: StoredObject): undefined {
  const counts = countsOf(budget, component.list<Pod>(collections.pods, budget.metadata.namespace));
  const observedGeneration = budget.metadata.generation;
  const old = objectsAt(budget, 'status.conditions') as unknown as Condition[];
  const [status, reason] = counts.disruptionsAllowed > 0 ? (['True', 'SufficientPods'] as const) : (['False', 'InsufficientPods'] as const);
  const condition = conditionSince(old, { type: 'DisruptionAllowed', status, reason, message: '' }, component.now());
  const conditions = [{ ...condition, observedGeneration }];
  component.setStatus(collections.budgets, budget, { ...counts, conditions, observedGeneration });
}

/** @throws StatusError 429 in the words of kube-apiserver, 500 for a pod of several budgets */
function checkBudget({ store }: Backend, pod: Pod): void {
  if (!isActive(pod) || pod.status.phase === 'Pending') return;
  const { namespace } = pod.metadata;
  const [budget, ...others] = (store.list(collections.budgets, { namespace }) ?? []).filter((one) => covers(one, pod));
  if (budget === undefined) return;
  const several = 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.';
  if (others.length > 0) throw new StatusError(500, 'InternalError', several);
  const pods = (store.list(collections.pods, { namespace }) ?? []) as Pod[];
  const { desiredHealthy, currentHealthy, disruptionsAllowed } = countsOf(budget, pods);
  const isSpare = !isReady(pod) && desiredHealthy > 0 && currentHealthy >= desiredHealthy;
  if (disruptionsAllowed > 0 || isSpare) return;
  const message = `The disruption budget ${budget.metadata.name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`;
  throw new StatusError(429, 'TooManyRequests', "Cannot evict pod as it would violate the pod's disruption budget.", {
    details: { causes: [{ reason: 'DisruptionBudget', message }] },
  });
}

export async function evict(exchange: Exchange, target: Target): Promise<void> {
  const { backend, info } = exchange;
  const { deleteOptions: body } = await requiredObject(exchange, 'Eviction');
  // The options of the eviction itself hold, too, where those of the deletion have none.
  const given = isRecord(body) ? { ...body, dryRun: body.dryRun ?? info.query.getAll('dryRun') } : undefined;
  const options = deleteOptions(info.query, given);
  checkBudget(backend, getObject(backend, target) as Pod);
  deleteObject(backend, target, options, { user: exchange.user, warn: () => {} });
  sendJson(exchange, 201, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 });
}

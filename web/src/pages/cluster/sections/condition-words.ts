/**
 * Conditions of any kind in words. By the conventions of Kubernetes, `True` is the normal state of a condition such as `Ready`, and bad of
 * one such as `Degraded`.
 */

import type { ClusterObject } from '../../../api/object-types.ts';

export interface ConditionWord {
  type: string;
  /** `unseen`: of an older generation than the object. */
  state: 'good' | 'bad' | 'unknown' | 'unseen';
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
  since: string | undefined;
}

/** Conditions by which most controllers sum up their object, the most telling first. */
const goodWhenTrue = ['Ready', 'Available', 'Established', 'Accepted', 'Programmed', 'Synced', 'Healthy', 'Succeeded', 'NamesAccepted'];
const badWhenTrue = ['Degraded', 'Stalled', 'Failed', 'Failure', 'Error', 'Invalid', 'NonStructuralSchema', 'Terminating'];
const known = [...goodWhenTrue, ...badWhenTrue];
/** Controllers write few conditions; more are a mistake, and are left to the table. */
const limit = 20;

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Returns the conditions whose meaning the conventions tell. */
export function conditionWords({ metadata, status }: ClusterObject): ConditionWord[] {
  const given: unknown[] = Array.isArray(status?.conditions) ? status.conditions.slice(0, limit) : [];
  const words = given.flatMap((condition): ConditionWord[] => {
    if (typeof condition !== 'object' || condition === null) return [];
    const { type, status: is, reason, message, lastTransitionTime, observedGeneration } = condition as Record<string, unknown>;
    const name = text(type);
    if (!known.includes(name)) return [];
    const isOld = typeof observedGeneration === 'number' && observedGeneration < (metadata.generation ?? 0);
    return [
      {
        ...{ type: name, reason: text(reason), message: text(message) },
        status: is === 'True' || is === 'False' ? is : 'Unknown',
        state: isOld ? 'unseen' : stateOf(name, is),
        since: Number.isNaN(Date.parse(text(lastTransitionTime))) ? undefined : text(lastTransitionTime),
      },
    ];
  });
  return words.sort((a, b) => known.indexOf(a.type) - known.indexOf(b.type));
}

function stateOf(type: string, status: unknown): ConditionWord['state'] {
  if (status !== 'True' && status !== 'False') return 'unknown';
  return (status === 'True') === goodWhenTrue.includes(type) ? 'good' : 'bad';
}

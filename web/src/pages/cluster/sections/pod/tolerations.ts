/** Taints that a pod tolerates. Kubernetes documentation, "Taints and Tolerations". */

import type { ClusterObject } from '../../../../api/object-types.ts';

interface Toleration {
  key?: string;
  operator?: string;
  value?: string;
  effect?: string;
  tolerationSeconds?: number;
}

export interface TolerationWords {
  /** The sentence about it. `some` is an effect that these pages do not know. */
  effect: 'all' | 'any' | 'noSchedule' | 'preferNoSchedule' | 'stays' | 'staysFor' | 'some';
  /** `dedicated=database:NoSchedule`. */
  taint: string;
  seconds: number;
}

const effects: Readonly<Record<string, TolerationWords['effect']>> = {
  ...{ '': 'any', NoSchedule: 'noSchedule', PreferNoSchedule: 'preferNoSchedule', NoExecute: 'stays' },
};

function wordsOf({ key = '', operator = 'Equal', value = '', effect = '', tolerationSeconds }: Toleration): TolerationWords {
  const comparison = operator === 'Equal' ? value && `=${value}` : operator === 'Exists' ? '' : ` ${operator} ${value}`;
  const words = { taint: `${key}${comparison}${effect && `:${effect}`}`, seconds: tolerationSeconds ?? 0 };
  // A toleration without a key matches each taint of its effect.
  if (key === '' && effect === '') return { ...words, effect: 'all' };
  if (effect === 'NoExecute' && tolerationSeconds !== undefined) return { ...words, effect: 'staysFor' };
  return { ...words, effect: effects[effect] ?? 'some' };
}

export const tolerationsOf = ({ spec }: ClusterObject): TolerationWords[] =>
  (Array.isArray(spec?.tolerations) ? (spec.tolerations as Toleration[]) : []).map(wordsOf);

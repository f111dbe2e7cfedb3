/** Conditions in words. Kubernetes API conventions: `True` is good of `Ready`, and bad of `MemoryPressure`. */

import type { ClusterObject } from '../../../../api/object-types.ts';

export interface ConditionRow {
  type: string;
  /** The type as words: `Memory pressure`. */
  name: string;
  status: 'True' | 'False' | 'Unknown';
  /** The condition is of an older generation than the object. */
  isUnseen?: boolean;
  /** Unset where the type does not tell, or the controller has not seen the object. */
  tone?: 'ok' | 'warn' | 'bad';
  reason: string;
  message: string;
  since: string | undefined;
}

/** Controllers write few conditions; an object with more of them is a mistake, or hostile. */
const limit = 100;
const good =
  /(?:Ready|Available|Established|Initialized|Accepted|Approved|Healthy|Succeeded|Complete|Programmed|Synced|ResolvedRefs|AbleToScale|ScalingActive|PodScheduled|SuccessCriteriaMet)$/;
const bad =
  /(?:Pressure|Unavailable|Failure|FailureTarget|Failed|Error|Degraded|Stalled|Denied|Conflicted|Conflict|Invalid|Dangling|ContentRemaining|FinalizersRemaining|DisruptionTarget|NonStructuralSchema|Terminating)$/;

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** `PIDPressure` becomes `PID pressure`. */
function nameOf(type: string): string {
  const [first = '', ...rest] = type
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .split(' ');
  return [first, ...rest.map((word) => (/^[A-Z0-9]{2,}$/.test(word) ? word : word.toLowerCase()))].join(' ');
}

function toneOf({ type, status, reason }: ConditionRow): ConditionRow['tone'] {
  // The containers of a pod that has done its work are not ready, and need not be.
  if (reason === 'PodCompleted') return undefined;
  // False is the end of a rollout to some controllers, and its failure to others.
  if (type === 'Progressing') return reason === 'ProgressDeadlineExceeded' ? 'bad' : undefined;
  const isBad = bad.test(type);
  if (!isBad && !good.test(type)) return undefined;
  if (status === 'Unknown') return 'warn';
  return isBad === (status === 'False') ? 'ok' : 'bad';
}

/** Reads conditions in their order. @param generation of the object */
function readConditions(given: unknown, generation = 0): ConditionRow[] {
  const entries: unknown[] = Array.isArray(given) ? given.slice(0, limit) : [];
  return entries.flatMap((entry): ConditionRow[] => {
    if (typeof entry !== 'object' || entry === null) return [];
    const { type, status: word, reason, message, lastTransitionTime, observedGeneration } = entry as Record<string, unknown>;
    const row: ConditionRow = {
      ...{ type: text(type), name: nameOf(text(type)), reason: text(reason), message: text(message) },
      status: word === 'True' || word === 'False' ? word : 'Unknown',
      since: Number.isNaN(Date.parse(text(lastTransitionTime))) ? undefined : text(lastTransitionTime),
    };
    if (typeof observedGeneration === 'number' && observedGeneration < generation) return [{ ...row, isUnseen: true }];
    const tone = toneOf(row);
    return [{ ...row, ...(tone && { tone }) }];
  });
}

/** Reads conditions of any object: those that report a problem come first. */
export function conditionRows(given: unknown, generation?: number): ConditionRow[] {
  const urgency = ({ tone }: ConditionRow) => ['bad', 'warn'].indexOf(tone ?? '') + 1 || 3;
  return readConditions(given, generation).sort((a, b) => urgency(a) - urgency(b));
}

/** Conditions by which most controllers sum up their object, the most telling first. */
const telling = ['Ready', 'Available', 'Established', 'Accepted', 'Programmed', 'Synced', 'Healthy', 'Succeeded'];

/** Returns the conditions that sum up an object: those whose meaning the conventions tell, the most telling first. */
export function summaryConditions({ metadata, status }: ClusterObject): ConditionRow[] {
  const rank = ({ type }: ConditionRow) => telling.indexOf(type) + 1 || telling.length + (bad.test(type) ? 2 : 1);
  return readConditions(status?.conditions, metadata.generation)
    .filter(({ tone, isUnseen }) => tone !== undefined || isUnseen)
    .sort((a, b) => rank(a) - rank(b));
}

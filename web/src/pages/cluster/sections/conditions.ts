/** Conditions in words. Kubernetes API conventions: `True` is good of `Ready`, and bad of `MemoryPressure`. */

export interface ConditionRow {
  type: string;
  /** The type as words: `Memory pressure`. */
  name: string;
  status: 'True' | 'False' | 'Unknown';
  /** Unset where the type does not tell. */
  tone?: 'ok' | 'warn' | 'bad';
  reason: string;
  message: string;
  since: string | undefined;
}

/** Controllers write few conditions; an object with more of them is a mistake, or hostile. */
const limit = 100;
const good =
  /(?:Ready|Available|Established|Initialized|Accepted|Approved|Healthy|Succeeded|Complete|Programmed|Synced|Progressing|ResolvedRefs|AbleToScale|ScalingActive|PodScheduled|SuccessCriteriaMet)$/;
const bad =
  /(?:Pressure|Unavailable|Failure|FailureTarget|Failed|Error|Degraded|Stalled|Denied|Conflicted|Conflict|Invalid|Dangling|ContentRemaining|FinalizersRemaining|DisruptionTarget)$/;

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** `PIDPressure` becomes `PID pressure`. */
function nameOf(type: string): string {
  const [first = '', ...rest] = type
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .split(' ');
  return [first, ...rest.map((word) => (/^[A-Z0-9]{2,}$/.test(word) ? word : word.toLowerCase()))].join(' ');
}

function toneOf(type: string, status: ConditionRow['status']): ConditionRow['tone'] {
  const isGood = good.test(type) && !bad.test(type);
  if (!isGood && !bad.test(type)) return undefined;
  if (status === 'Unknown') return 'warn';
  return isGood === (status === 'True') ? 'ok' : 'bad';
}

/** Reads conditions of any object: those that report a problem come first. */
export function conditionRows(given: unknown): ConditionRow[] {
  const entries: unknown[] = Array.isArray(given) ? given.slice(0, limit) : [];
  const rows = entries.flatMap((entry): ConditionRow[] => {
    if (typeof entry !== 'object' || entry === null) return [];
    const { type, status: word, reason, message, lastTransitionTime } = entry as Record<string, unknown>;
    const status = word === 'True' || word === 'False' ? word : 'Unknown';
    // The containers of a pod that has done its work are not ready, and need not be.
    const tone = reason === 'PodCompleted' ? undefined : toneOf(text(type), status);
    const since = Number.isNaN(Date.parse(text(lastTransitionTime))) ? undefined : text(lastTransitionTime);
    return [
      { type: text(type), name: nameOf(text(type)), status, ...(tone && { tone }), reason: text(reason), message: text(message), since },
    ];
  });
  const urgency = ({ tone }: ConditionRow) => ['bad', 'warn'].indexOf(tone ?? '') + 1 || 3;
  return rows.sort((a, b) => urgency(a) - urgency(b));
}

/** Events of a request, as mail and webhooks tell them. They follow from the stored request alone, so that every replica finds the same. */
import type { accessEventTypes } from '../config/access-requests-section.ts';
import { timestamp } from '../kubernetes/timestamp.ts';
import type { Decision, RequestRow } from './request.ts';

export type AccessEventType = (typeof accessEventTypes)[number];

export interface AccessEvent {
  /** Type and number, such as `decided-2`. */
  readonly id: string;
  readonly type: AccessEventType;
  readonly time: string;
  /** The decision of `decided` and `denied`. */
  readonly decision?: Decision;
}

const finalPhases: readonly string[] = ['Withdrawn', 'Lapsed', 'Ended'];

/** Returns the events of a request so far. */
export function eventsOf({ phase, spec, decisions, created, told: { ended, binding, review } }: RequestRow): AccessEvent[] {
  if (phase === '' || spec === undefined) return [];
  const first = timestamp(new Date(created));
  const given = decisions.at(-1)?.time ?? first;
  const events = (type: AccessEventType, times: readonly (string | undefined)[]): AccessEvent[] =>
    times.flatMap((time, index) => (time === undefined ? [] : [{ id: `${type}-${index + 1}`, type, time }]));
  const denial = decisions.find(({ approve }) => !approve);
  return [
    ...events('requested', [first]),
    ...decisions.map((decision, index) => ({ id: `decided-${index + 1}`, type: 'decided' as const, time: decision.time, decision })),
    ...events('granted', [binding && given]),
    ...events('breakglass', [spec.breakGlass ? binding && first : undefined]),
    ...events('denied', [phase === 'Denied' ? ended : undefined]).map((event) => ({ ...event, ...(denial && { decision: denial }) })),
    ...events('ended', [finalPhases.includes(phase) ? ended : undefined]),
    ...events('reviewed', [review?.time]),
  ];
}

import { CalendarClock, CircleCheck, CircleSlash, CircleX, Clock } from 'lucide';
import type { AccessRequest } from '../../app/own-requests';
import { t, tOf } from '../../text/text';
import { Icon } from '../../ui/icon';

const shapes = {
  Pending: [Clock, 'warn'],
  Approving: [Clock, 'warn'],
  Scheduled: [CalendarClock, 'ok'],
  Active: [CircleCheck, 'ok'],
  Denied: [CircleX, 'bad'],
  Withdrawn: [CircleSlash, 'off'],
  Lapsed: [CircleSlash, 'off'],
  Ended: [CircleSlash, 'off'],
} as const;

export const phases = Object.keys(shapes) as readonly (keyof typeof shapes)[];
export const phaseName = (phase: (typeof phases)[number]): string => t(`requests.phase.${phase}`);

/** State of a request: shape and word, never colour alone. */
export function RequestPhase({ request: { status } }: { request: AccessRequest }) {
  const phase = status?.phase ?? 'Pending';
  const [icon, kind] = shapes[phase];
  return (
    <span class={`phase ${kind}`}>
      <Icon of={icon} />
      <span>{phaseName(phase)}</span>
    </span>
  );
}

/** Returns why a request or its access is over. */
export const reasonOf = ({ reason, message }: NonNullable<AccessRequest['status']>): string =>
  reason ? tOf('requestReason', reason) : (message ?? '');

import { CircleAlert, CircleCheck, CircleSlash, Lock } from 'lucide';
import type { Schemas } from '../api/client';
import { t, tOf } from '../text/text';
import { Icon } from './icon';

type Phase = NonNullable<NonNullable<Schemas['User']['status']>['phase']>;

const shapes = { Normal: CircleCheck, Locked: Lock, Disabled: CircleSlash, Invalid: CircleAlert } as const;
const kinds = { Normal: 'ok', Locked: 'warn', Disabled: 'off', Invalid: 'bad' } as const;

export const phases = ['Normal', 'Locked', 'Disabled', 'Invalid'] as const;

/** The state of a user: shape, word and reason, never colour alone. */
export function PhaseOf({ user: { status } }: { user: Schemas['User'] }) {
  if (status?.phase === undefined) return <span class="muted">{t('phase.Unknown')}</span>;
  return (
    <span class={`phase ${kinds[status.phase]}`}>
      <Icon of={shapes[status.phase]} />
      <span>{phaseName(status.phase)}</span>
      {status.reason && status.phase !== 'Normal' && <span class="muted">{tOf('reason', status.reason)}</span>}
    </span>
  );
}

export const phaseName = (phase: Phase): string => t(`phase.${phase}`);

import { CircleCheck, CircleSlash, CircleX, Clock } from 'lucide';
import type { Schemas } from '../../api/client';
import { t } from '../../text/text';
import { Icon } from '../../ui/icon';

export type ChangeProposal = Schemas['ChangeProposal'];

const shapes = {
  Open: [Clock, 'warn'],
  Confirmed: [CircleCheck, 'ok'],
  Rejected: [CircleX, 'off'],
  Expired: [CircleSlash, 'off'],
} as const;

/** State of a proposal: shape and word, never colour alone. */
export function ProposalPhase({ phase }: Pick<ChangeProposal, 'phase'>) {
  const [icon, kind] = shapes[phase];
  return (
    <span class={`phase ${kind}`}>
      <Icon of={icon} />
      <span>{t(`proposals.phase.${phase}`)}</span>
    </span>
  );
}

/** Returns what the proposal would do, as a sentence: `Change Deployment cart in shop`. */
export function sentenceOf({ verb, object: { kind, name, namespace } }: ChangeProposal): string {
  return namespace ? t(`proposals.verbIn.${verb}`, { kind, name, namespace }) : t(`proposals.verb.${verb}`, { kind, name });
}

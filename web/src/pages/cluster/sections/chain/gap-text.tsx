import { WhyButton } from '../../../../app/why';
import { t } from '../../../../text/text';
import { firstOnlyText } from '../../../../ui/state';
import type { Gap } from './use-reads';

/** Tells of a kind that was not read, or not whole: its objects are not known to be missing. */
export function GapText({ gap: { kind, why, right, message, count } }: { gap: Gap }) {
  return (
    <p class="muted">
      {why === 'part' ? firstOnlyText({ count, kind: kind.title }) : t(`chain.${why}`, { kind: kind.title, message })}{' '}
      {why === 'forbidden' && <WhyButton right={right} />}
    </p>
  );
}

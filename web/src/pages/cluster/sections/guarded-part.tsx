import type { ComponentChildren } from 'preact';
import { Guarded } from '../../../app/guarded';
import { may, type Right } from '../../../app/rights';
import { WhyButton } from '../../../app/why';
import { t } from '../../../text/text';

/** Shows a part of a page to callers with the right to list. Others read in one line which list is missing, and may ask why. */
export function GuardedPart({ right, children }: { right: Right; children: ComponentChildren }) {
  if (may(right) !== false) return <Guarded right={right}>{children}</Guarded>;
  const { resource, namespace } = right;
  return (
    <p class="muted">
      {namespace ? t('object.mayNotListIn', { resource, namespace }) : t('object.mayNotList', { resource })} <WhyButton right={right} />
    </p>
  );
}

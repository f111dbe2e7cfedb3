import type { ComponentChildren } from 'preact';
import type { Kind } from '../../../api/kinds';
import { Guarded } from '../../../app/guarded';
import { may, type Right, useRights } from '../../../app/rights';
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

interface GuardedListProps {
  kind: Kind;
  namespace?: string | undefined;
  children: (mayWatch: boolean) => ComponentChildren;
}

/** Shows a part of a page to callers who may list the kind, and tells the part whether they may watch it. */
export function GuardedList({ kind: { group, resource }, namespace, children }: GuardedListProps) {
  const right = (verb: string): Right => ({ verb, group, resource, ...(namespace && { namespace }) });
  const [list, watch] = [right('list'), right('watch')];
  useRights([list, watch]);
  return <GuardedPart right={list}>{children(may(watch) === true)}</GuardedPart>;
}

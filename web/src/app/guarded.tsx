import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { usePoll } from '../api/poll';
import { t } from '../text/text';
import { Failure, RefusedState, Skeleton } from '../ui/state';
import { AskFor } from './ask';
import { askRights, may, type Right, rightsProblem } from './rights';
import { Needed, useExplanation } from './why';

interface GuardedProps {
  /** Right that the page requests by `useRights`. */
  right: Right;
  /** Users need no right for their own objects. */
  isSelf?: boolean;
  /** Title of the page, if the guarded part is the whole page. */
  title?: string;
  children: ComponentChildren;
}

/** Shows its children once the cluster has confirmed that the caller may see them. Children that are not shown send no requests. */
export function Guarded({ right, isSelf = false, title, children }: GuardedProps) {
  const isAllowed = isSelf || may(right);
  if (isAllowed) return children;
  const problem = rightsProblem.value;
  const state =
    isAllowed === false ? (
      <Denied right={right} />
    ) : problem ? (
      <Failure problem={problem} onRetry={() => void askRights([right])} />
    ) : (
      <Skeleton />
    );
  if (title === undefined) return state;
  return (
    <section class="page">
      <header class="page-head">
        <h1 tabIndex={-1}>{title}</h1>
      </header>
      {state}
    </section>
  );
}

function Denied({ right }: { right: Right }) {
  const load = useExplanation(right);
  usePoll(useMemo(() => ({ reload: () => askRights([right]) }), [JSON.stringify(right)]));
  const explanation = load.data.value?.explanation;
  const roles = explanation && 'roles' in explanation ? explanation.roles.map(({ name }) => name) : [];
  return (
    <RefusedState>
      <p class="muted measure">
        <Needed right={right} />
      </p>
      {roles.length > 0 && <p class="muted measure">{t('rights.roles', { roles: roles.join(', ') })}</p>}
      <AskFor right={right} />
    </RefusedState>
  );
}

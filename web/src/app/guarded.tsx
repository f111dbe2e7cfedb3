import type { ComponentChildren } from 'preact';
import { useLoad } from '../api/load';
import { t } from '../text/text';
import { Failure, RefusedState, Skeleton } from '../ui/state';
import { askRights, explain, may, type Right, rightsProblem } from './rights';
import { Needed } from './why';

interface GuardedProps {
  /** One of those that the page asks about. */
  right: Right;
  /** What is about oneself needs no right. */
  isSelf?: boolean;
  /** Of the page, where the guarded part is all of it. */
  title?: string;
  children: ComponentChildren;
}

/** Shows its children once the cluster has said that the caller may see them: a page that may not does not even ask for them. */
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
  const load = useLoad(`why/${JSON.stringify(right)}`, (signal) => explain(right, signal));
  const explanation = load.data.value?.explanation;
  const roles = explanation && 'roles' in explanation ? explanation.roles.map(({ name }) => name) : [];
  return (
    <RefusedState>
      <p class="muted measure">
        <Needed right={right} />
      </p>
      {roles.length > 0 && <p class="muted measure">{t('rights.roles', { roles: roles.join(', ') })}</p>}
    </RefusedState>
  );
}

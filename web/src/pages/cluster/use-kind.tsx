import './cluster.css';
import type { ComponentChildren } from 'preact';
import { fetchKinds, type Kind, kindInPath, staleGroups } from '../../api/kinds';
import { useLoad } from '../../api/load';
import { t } from '../../text/text';
import { LinkButton } from '../../ui/button';
import { Failure, Notice, Skeleton } from '../../ui/state';

export const useKinds = () => useLoad('kinds', fetchKinds);

/** Reports a part of discovery that is missing; kubectl warns of the same. */
export const Stale = ({ groups }: { groups: readonly string[] }) => (
  <Notice>{t('cluster.staleGroups', { count: groups.length, groups: groups.join(', ') })}</Notice>
);

interface OfKindProps {
  group: string;
  version: string;
  resource: string;
  children: (kind: Kind, kinds: readonly Kind[]) => ComponentChildren;
}

/** Shows its children once the cluster has said what the kind is. */
export function OfKind({ group, version, resource, children }: OfKindProps) {
  const load = useKinds();
  const [kinds, problem] = [load.data.value, load.error.value];
  const kind = kindInPath(kinds, { group, version, resource });
  if (kinds !== undefined && kind !== undefined) return children(kind, kinds);
  return (
    <section class="page">
      <h1 tabIndex={-1}>{resource}</h1>
      {kinds !== undefined ? (
        <>
          {staleGroups.value.includes(`${group}/${version}`) ? (
            <Stale groups={[`${group}/${version}`]} />
          ) : (
            <p class="muted">{t('cluster.noKind')}</p>
          )}
          <div class="buttons">
            <LinkButton to="/kinds">{t('cluster.kinds')}</LinkButton>
          </div>
        </>
      ) : problem ? (
        <Failure problem={problem} onRetry={() => void load.reload()} />
      ) : (
        <Skeleton />
      )}
    </section>
  );
}

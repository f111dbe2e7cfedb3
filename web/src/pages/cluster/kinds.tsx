import { folded, wantedText } from '@atrium/objects/folded.ts';
import { Pin, PinOff } from 'lucide';
import { isListable, type Kind, kindId, pageOf, staleGroups } from '../../api/kinds';
import { isPinned, togglePin } from '../../app/cluster-menu';
import { href, query } from '../../app/router';
import { t } from '../../text/text';
import { Button } from '../../ui/button';
import { Loaded } from '../../ui/loaded';
import { SearchField } from '../../ui/search';
import { Empty } from '../../ui/state';
import { Stale, useKinds } from './use-kind';

/** Every kind of object that the cluster has, by group. */
export function Page() {
  const load = useKinds();
  const search = wantedText(query.value.get('q') ?? '');
  return (
    <section class="page">
      <header class="page-head">
        <h1 tabIndex={-1}>{t('cluster.kinds')}</h1>
      </header>
      <search class="filters">
        <SearchField label={t('cluster.findKind')} isPrompt />
      </search>
      {staleGroups.value.length > 0 && <Stale groups={staleGroups.value} />}
      <Loaded load={load}>
        {(kinds) => {
          const found = kinds.filter((kind) => kind.isPreferred && isListable(kind) && matches(kind, search));
          const groups = [...Map.groupBy(found, ({ group }) => group)].sort(([a], [b]) => (a < b ? -1 : 1));
          if (found.length === 0) return <Empty text={t('cluster.noKindMatches')} />;
          return groups.map(([group, ofGroup]) => (
            <section key={group} aria-labelledby={`group-${group}`} class="kind-group">
              <h2 id={`group-${group}`}>{group || t('cluster.core')}</h2>
              <ul class="kinds">
                {ofGroup
                  .sort((a, b) => (a.title < b.title ? -1 : 1))
                  .map((kind) => (
                    <li key={kindId(kind)}>
                      <a href={href(pageOf(kind))}>{kind.title}</a>
                      <Button
                        kind="quiet"
                        icon={isPinned(kind) ? PinOff : Pin}
                        label={t(isPinned(kind) ? 'cluster.unpin' : 'cluster.pin', { kind: kind.title })}
                        onClick={() => togglePin(kind)}
                      />
                    </li>
                  ))}
              </ul>
            </section>
          ));
        }}
      </Loaded>
    </section>
  );
}

const matches = ({ kind, resource, group, shortNames }: Kind, search: string): boolean =>
  search === '' || shortNames.includes(search) || folded(`${kind} ${resource}.${group}`).includes(search);

import { wantedText } from '@atrium/objects/folded.ts';
import { useEffect, useRef } from 'preact/hooks';
import { apiPath, eventsPage, type Kind } from '../../../api/kinds';
import { useLoad } from '../../../api/load';
import { getJson } from '../../../api/objects';
import { useWatch } from '../../../api/watch';
import { Guarded } from '../../../app/guarded';
import type { PageProps } from '../../../app/page-props';
import { may, type Right, useRights } from '../../../app/rights';
import { query, setQuery } from '../../../app/router';
import { t } from '../../../text/text';
import { Age } from '../../../ui/age';
import { Loaded } from '../../../ui/loaded';
import { PlainTable } from '../../../ui/plain-table';
import { SearchField } from '../../../ui/search';
import { Empty, Notice } from '../../../ui/state';
import { StateWord } from '../cells';
import { MyNamespaces } from '../list/my-namespaces';
import { ObjectLink } from '../sections/object-link';
import { OfKind } from '../use-kind';
import { type EventGroup, groupsOf, matchesWords } from './event-groups';
import type { ClusterEvent } from './event-times';
import type { EventList } from './events';

const readEvents = 500;
const shownGroups = 200;
/** Busy clusters write events all the time. */
const rereadMs = 1000;

/** Events of the cluster: the latest first, a row for each object and reason. */
export function Page({ params: { namespace } }: PageProps) {
  return (
    <OfKind group="core" version="v1" resource="events">
      {(kind, kinds) => <RecentEvents key={namespace ?? ''} {...{ kind, kinds, namespace }} />}
    </OfKind>
  );
}

interface RecentProps {
  kind: Kind;
  kinds: readonly Kind[];
  namespace: string | undefined;
}

function RecentEvents({ kind, kinds, namespace }: RecentProps) {
  const right = (verb: string): Right => ({ verb, group: '', resource: 'events', ...(namespace && { namespace }) });
  const [list, watch] = [right('list'), right('watch')];
  useRights([list, watch]);
  return (
    <section class="page">
      <header class="page-head">
        <h1 tabIndex={-1}>{t('cluster.recentEvents')}</h1>
      </header>
      {may(list) === false ? (
        <MyNamespaces kind={kind} right={list} namespace={namespace} pageIn={eventsPage} />
      ) : (
        <Guarded right={list}>
          <search class="filters">
            <SearchField label={t('cluster.findEvent')} isPrompt />
            <TypeChoice />
          </search>
          <Groups {...{ kind, kinds, namespace }} mayWatch={may(watch) === true} />
        </Guarded>
      )}
    </section>
  );
}

const types = ['Warning', 'Normal'];

function TypeChoice() {
  return (
    <label>
      <span class="hidden">{t('cluster.type')}</span>
      <select value={query.value.get('type') ?? ''} onChange={({ currentTarget }) => setQuery({ type: currentTarget.value })}>
        <option value="">{t('cluster.anyType')}</option>
        {types.map((type) => (
          <option key={type}>{type}</option>
        ))}
      </select>
    </label>
  );
}

interface Recent {
  events: readonly ClusterEvent[];
  resourceVersion: string;
  isCut: boolean;
}

/** Reads warnings on their own, so that a limit never hides them behind the others. A watch from the first list misses no change. */
async function readRecent(path: string, signal: AbortSignal): Promise<Recent> {
  const read = (fieldSelector: string) =>
    getJson<EventList>(`${path}?${new URLSearchParams({ fieldSelector, limit: String(readEvents) })}`, signal);
  const warnings = await read('type=Warning');
  const others = await read('type!=Warning');
  return {
    events: [...warnings.items, ...others.items],
    resourceVersion: warnings.metadata.resourceVersion,
    isCut: Boolean(warnings.metadata.continue || others.metadata.continue),
  };
}

function useUnhurried(act: () => Promise<void>): () => Promise<void> {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return async () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      void act();
    }, rereadMs);
  };
}

function Groups({ kind, kinds, namespace, mayWatch }: RecentProps & { mayWatch: boolean }) {
  const path = apiPath(kind, { namespace });
  const load = useLoad(`recent-events/${path}`, (signal) => readRecent(path, signal));
  const watched = { path: mayWatch ? path : undefined, resourceVersion: load.data.value?.resourceVersion };
  const lost = useWatch(watched, useUnhurried(load.reload));
  const [words, type] = [wantedText(query.value.get('q') ?? ''), query.value.get('type') ?? ''];
  return (
    <Loaded load={load} lost={lost.value}>
      {({ events, isCut }) => {
        const found = groupsOf(events).filter((group) => (type === '' || group.type === type) && matchesWords(group, words));
        if (found.length === 0) return <Empty text={t(events.length === 0 ? 'cluster.noRecentEvents' : 'cluster.noEventMatches')} />;
        return (
          <>
            {(isCut || found.length > shownGroups) && <Notice kind="info">{t('cluster.moreEvents')}</Notice>}
            <GroupTable groups={found.slice(0, shownGroups)} kinds={kinds} hasNamespace={namespace === undefined} />
          </>
        );
      }}
    </Loaded>
  );
}

interface GroupTableProps {
  groups: readonly EventGroup[];
  kinds: readonly Kind[];
  hasNamespace: boolean;
}

export function GroupTable({ groups, kinds, hasNamespace }: GroupTableProps) {
  return (
    <PlainTable
      label={t('cluster.recentEvents')}
      rows={groups}
      idOf={({ id }) => id}
      columns={[
        { title: t('cluster.type'), cell: ({ type }) => <StateWord word={type} /> },
        { title: t('cluster.reason'), cell: ({ reason }) => reason },
        {
          title: t('cluster.object'),
          cell: ({ object }) => (
            <>
              {object.kind} <ObjectLink kinds={kinds} {...object} />
              {hasNamespace && object.namespace && <div class="muted">{object.namespace}</div>}
            </>
          ),
        },
        { title: t('cluster.message'), cell: ({ message }) => message },
        { title: t('cluster.times'), isNumber: true, cell: ({ times }) => times },
        { title: t('cluster.last'), isNumber: true, cell: ({ last }) => <Age since={last} /> },
      ]}
    />
  );
}

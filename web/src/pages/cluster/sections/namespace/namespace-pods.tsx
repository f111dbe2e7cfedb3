import { apiPath, type Kind, pageOf } from '../../../../api/kinds';
import { tableAccept } from '../../../../api/list-path';
import { useLoad } from '../../../../api/load';
import { getJson, type ServerTable } from '../../../../api/objects';
import { useWatch } from '../../../../api/watch';
import { href } from '../../../../app/router';
import { count, t } from '../../../../text/text';
import { Loaded } from '../../../../ui/loaded';
import { FirstOnly } from '../../../../ui/state';
import { StateView, stateIn } from '../../cells';
import { findKind } from '../find-kind';
import { GuardedList } from '../guarded-part';
import type { SectionProps } from '../section';

/** Rows without their objects take about 150 bytes. */
const limit = 2000;

/** Counts the pods of a namespace by the state that kubectl prints. */
export function NamespacePods({ kinds, object: { metadata } }: SectionProps) {
  const namespace = metadata.name;
  const kind = findKind(kinds, 'pods');
  if (kind === undefined) return <p class="muted">{t('object.notServed', { kind: 'pods' })}</p>;
  return <GuardedList {...{ kind, namespace }}>{(mayWatch) => <States {...{ kind, namespace, mayWatch }} />}</GuardedList>;
}

/** Returns the states of pods with their numbers, the most frequent first. Pods that run and are not ready are counted for themselves. */
function countsOf(kind: Kind, { rows, columnDefinitions }: ServerTable) {
  const at = (title: string) => (columnDefinitions ?? []).findIndex(({ name }) => name === title);
  const [status, ready] = [at('Status'), at('Ready')];
  const states = (rows ?? []).map(({ cells }) => stateIn(kind, { status: String(cells[status] ?? ''), ready: String(cells[ready] ?? '') }));
  return [...Map.groupBy(states, ({ word, tone }) => `${word} ${tone}`)]
    .flatMap(([id, those]) => (those[0] ? [{ id, state: those[0], times: those.length }] : []))
    .sort((a, b) => b.times - a.times);
}

function States({ kind, namespace, mayWatch }: { kind: Kind; namespace: string; mayWatch: boolean }) {
  const path = apiPath(kind, { namespace });
  const query = new URLSearchParams({ limit: String(limit), includeObject: 'None' });
  const load = useLoad(`podStates/${path}`, (signal) => getJson<ServerTable>(`${path}?${query}`, signal, tableAccept));
  const { resourceVersion } = load.data.value?.metadata ?? {};
  const lost = useWatch({ path: mayWatch ? path : undefined, resourceVersion }, load.reload);
  return (
    <Loaded load={load} lost={lost.value}>
      {(table) => {
        const counts = countsOf(kind, table);
        const isPart = Boolean(table.metadata.continue);
        if (counts.length === 0 && !isPart) return <p class="muted">{t('cluster.none', { kind: kind.title })}</p>;
        return (
          <>
            <FirstOnly isPart={isPart} count={table.rows?.length ?? 0} kind={kind.title} />
            <ul class="counts">
              {counts.map(({ id, state, times }) => (
                <li key={id}>
                  <a href={href(`${pageOf(kind, { namespace })}?${new URLSearchParams({ q: state.word })}`)}>
                    <span class="strong">{count(times)}</span> <StateView of={state} />
                  </a>
                </li>
              ))}
            </ul>
          </>
        );
      }}
    </Loaded>
  );
}

import { useLoad } from '../../../api/load';
import { type ClusterObject, getList } from '../../../api/objects';
import { useWatch } from '../../../api/watch';
import { Guarded } from '../../../app/guarded';
import { may, type Right, useRights } from '../../../app/rights';
import { t } from '../../../text/text';
import { Age } from '../../../ui/age';
import { Loaded } from '../../../ui/loaded';
import { PlainTable } from '../../../ui/plain-table';
import { Empty, FirstOnly } from '../../../ui/state';
import { StateWord } from '../cells';
import { byTime, type ClusterEvent, lastOf, timesOf } from './event-times';

export interface EventList {
  metadata: { resourceVersion: string; continue?: string };
  items: ClusterEvent[];
}

/** Shows the events about an object. */
export function Events({ object }: { object: ClusterObject }) {
  const { name, namespace = 'default' } = object.metadata;
  const fieldSelector = `involvedObject.kind=${object.kind},involvedObject.name=${name}`;
  const right = (verb: string): Right => ({ verb, group: '', resource: 'events', namespace });
  const [list, watch] = [right('list'), right('watch')];
  useRights([list, watch]);
  return (
    <Guarded right={list}>
      <EventTable
        path={`api/kubernetes/api/v1/namespaces/${encodeURIComponent(namespace)}/events`}
        fieldSelector={fieldSelector}
        mayWatch={may(watch) === true}
      />
    </Guarded>
  );
}

function EventTable({ path, fieldSelector, mayWatch }: { path: string; fieldSelector: string; mayWatch: boolean }) {
  const load = useLoad(`events/${path}/${fieldSelector}`, (signal) => getList<ClusterEvent>(path, { fieldSelector }, signal));
  const resourceVersion = load.data.value?.metadata.resourceVersion;
  const lost = useWatch({ path: mayWatch ? path : undefined, fieldSelector, resourceVersion }, load.reload);
  return (
    <Loaded load={load} lost={lost.value}>
      {({ items, metadata }) => (
        <>
          <FirstOnly isPart={Boolean(metadata.continue)} count={items.length} kind={t('cluster.events')} />
          {items.length === 0 && !metadata.continue && <Empty text={t('cluster.noEvents')} />}
          {items.length > 0 && (
            <PlainTable
              label={t('cluster.events')}
              rows={items.toSorted(byTime)}
              idOf={({ metadata }) => metadata.uid}
              columns={[
                { title: t('cluster.type'), cell: ({ type = '' }) => <StateWord word={type} /> },
                { title: t('cluster.reason'), cell: ({ reason }) => reason },
                { title: t('cluster.message'), cell: ({ message }) => message },
                { title: t('cluster.times'), isNumber: true, cell: timesOf },
                { title: t('cluster.last'), isNumber: true, cell: (event) => <Age since={lastOf(event)} /> },
              ]}
            />
          )}
        </>
      )}
    </Loaded>
  );
}

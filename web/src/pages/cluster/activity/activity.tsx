/** History of an object: sentences about the users who changed it. The object may exist no longer. */
import { api, bodyOf } from '../../../api/client';
import { type Kind, kindId } from '../../../api/kinds';
import { useLoad } from '../../../api/load';
import { usePoll } from '../../../api/poll';
import { t } from '../../../text/text';
import { Loaded } from '../../../ui/loaded';
import { Empty, FirstOnly } from '../../../ui/state';
import { ActivityLink } from '../../activity/activity-link';
import { EventTable } from '../../activity/event-table';
import { OwnOnly } from '../../activity/own-only';

const limit = 200;
const everyMs = 10_000;

interface ActivityProps {
  kind: Kind;
  kinds: readonly Kind[];
  namespace?: string | undefined;
  name: string;
}

export function Activity({ kind: { group, resource }, kinds, namespace, name }: ActivityProps) {
  const isNamespace = group === '' && resource === 'namespaces';
  // A namespace is in itself: the right to list its audits is enough for its own events.
  const place = isNamespace ? name : namespace;
  const query = { group, resource, name, limit, ...(place && { namespace: place }) };
  const load = useLoad(`activity/${kindId({ group, resource })}/${namespace}/${name}`, (signal) =>
    bodyOf(api.GET('/auth/v1/audit', { params: { query }, signal })),
  );
  usePoll(load, everyMs);
  return (
    <Loaded load={load}>
      {({ items, scope, metadata }) => (
        <>
          {isNamespace && <ActivityLink of={{ namespace: name, since: 'all' }}>{t('activity.inNamespace')}</ActivityLink>}
          {scope === 'Own' && <OwnOnly namespace={place} />}
          <FirstOnly isPart={metadata.continue !== undefined} count={items.length} kind={t('object.history')} />
          {items.length === 0 ? (
            <Empty text={t(scope === 'Own' ? 'activity.noneOfYours' : 'activity.none')} />
          ) : (
            <EventTable label={t('object.history')} events={items} kinds={kinds} isAtObject />
          )}
        </>
      )}
    </Loaded>
  );
}

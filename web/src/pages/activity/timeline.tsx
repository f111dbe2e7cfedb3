/** History of a user: what the user did, and what was done to and for the user. */
import { api, bodyOf, type Schemas } from '../../api/client';
import { fetchKinds, type Kind } from '../../api/kinds';
import { useLoad } from '../../api/load';
import { usePoll } from '../../api/poll';
import { t } from '../../text/text';
import { Loaded } from '../../ui/loaded';
import { Empty } from '../../ui/state';
import { EventTable } from './event-table';
import { Older } from './older';
import { OwnOnly } from './own-only';

const limit = 100;
const everyMs = 10_000;
const noKinds: readonly Kind[] = [];

type EventList = Schemas['AuditEventList'];

const readEvents = (user: string, signal: AbortSignal, place?: string): Promise<EventList> =>
  bodyOf(api.GET('/auth/v1/audit', { params: { query: { user, limit, ...(place && { continue: place }) } }, signal }));

export function Timeline({ user }: { user: string }) {
  const kinds = useLoad('kinds', fetchKinds).data.value ?? noKinds;
  const load = useLoad(`timeline/${user}`, (signal) => readEvents(user, signal));
  usePoll(load, everyMs);
  return (
    <Loaded load={load}>
      {(newest) => (
        <>
          {newest.scope === 'Own' && <OwnOnly namespace={undefined} />}
          {newest.items.length === 0 ? (
            <Empty text={t('user.noHistory')} />
          ) : (
            <EventTable label={t('user.history')} events={newest.items} kinds={kinds} />
          )}
          <Older
            newest={newest}
            idOf={({ auditID }) => auditID}
            read={(place) => readEvents(user, new AbortController().signal, place)}
            labels={{ older: t('activity.showOlder'), between: t('activity.showBetween') }}
          >
            {(older) => <EventTable label={t('activity.older')} events={older} kinds={kinds} />}
          </Older>
        </>
      )}
    </Loaded>
  );
}

import { CircleAlert, CircleCheck } from 'lucide';
import type { Schemas } from '../../api/client';
import { useLoad } from '../../api/load';
import { getList } from '../../api/objects';
import { useFeatures } from '../../api/version';
import { viewed } from '../../api/view';
import { Guarded } from '../../app/guarded';
import { loadTexts, t, tOf } from '../../text/text';
import { Ago } from '../../ui/age';
import { Icon } from '../../ui/icon';
import { Loaded } from '../../ui/loaded';
import { PlainTable } from '../../ui/plain-table';
import { Empty, FirstOnly } from '../../ui/state';
import { ActivityLink } from '../activity/activity-link';

/** Events about cluster-scoped objects are stored in this namespace. */
const namespace = 'default';
const historyRight = { verb: 'list', group: '', resource: 'events', namespace };
const timelineRight = { verb: 'list', resource: 'audits' };

/** Rights that the history asks for. */
export const historyRights = [historyRight, timelineRight];

interface ClusterEvent {
  metadata: { uid: string; creationTimestamp: string };
  type: 'Normal' | 'Warning';
  reason: string;
  message: string;
  lastTimestamp?: string | null;
}

const timeOf = ({ lastTimestamp, metadata }: ClusterEvent): string => lastTimestamp ?? metadata.creationTimestamp;

/** Splits a message of the service: `LoginFailed (BadPassword) by ann from 10.0.0.1`. */
function partsOf({ reason, message }: ClusterEvent) {
  const [, why, by, from] = /^\w+(?: \(([^)]*)\))?(?: by (\S+))?(?: from (\S+))?$/.exec(message) ?? [];
  return { what: tOf('history', reason), why: why ?? (by || from || message === reason ? '' : message), by, from };
}

/** Shows the history of a user. Installations without an audit store, and views, have the Events of the cluster alone. */
export function History({ user, isSelf }: { user: Schemas['User']; isSelf: boolean }) {
  const { name } = user.metadata;
  const hasEvents = useFeatures()('audit') && viewed.value === undefined;
  if (!hasEvents)
    return (
      <Guarded right={historyRight}>
        <ClusterEvents user={user} />
      </Guarded>
    );
  return (
    <>
      <div class="buttons">
        <ActivityLink of={{ user: name, since: 'all' }}>{t('activity.historyOfUser')}</ActivityLink>
        <ActivityLink of={{ actor: user.status?.subjectName, since: 'all' }}>{t('activity.ofUser')}</ActivityLink>
        <ActivityLink of={{ kind: 'users.auth.platform.io', name, since: 'all' }}>{t('activity.aboutUser')}</ActivityLink>
      </div>
      <Guarded right={timelineRight} isSelf={isSelf}>
        <TimelinePlace user={name} />
      </Guarded>
    </>
  );
}

/** Loads the timeline with its texts, which the other pages of users do without. */
function TimelinePlace({ user }: { user: string }) {
  const load = useLoad('part/timeline', async () => (await Promise.all([import('../activity/timeline'), loadTexts('activity')]))[0]);
  return <Loaded load={load}>{({ Timeline }) => <Timeline user={user} />}</Loaded>;
}

function ClusterEvents({ user: { metadata } }: { user: Schemas['User'] }) {
  const fieldSelector = `involvedObject.kind=User,involvedObject.uid=${metadata.uid}`;
  const load = useLoad(`history/${metadata.uid}`, async (signal) => {
    const list = await getList<ClusterEvent>(`api/kubernetes/api/v1/namespaces/${namespace}/events`, { fieldSelector }, signal);
    return { isPart: Boolean(list.metadata.continue), events: list.items.toSorted((a, b) => timeOf(b).localeCompare(timeOf(a))) };
  });
  return (
    <Loaded load={load}>
      {({ events, isPart }) => (
        <>
          <p class="muted">{t('history.kept')}</p>
          <FirstOnly isPart={isPart} count={events.length} kind={t('cluster.events')} />
          {events.length === 0 ? (
            !isPart && <Empty text={t('history.none')} />
          ) : (
            <PlainTable
              label={t('user.history')}
              rows={events}
              idOf={(event) => event.metadata.uid}
              columns={[
                {
                  title: t('history.when'),
                  cell: (event: ClusterEvent) => <Ago since={timeOf(event)} />,
                },
                { title: t('history.what'), cell: (event) => <What event={event} /> },
                { title: t('history.by'), cell: (event) => partsOf(event).by ?? '' },
                { title: t('history.from'), cell: (event) => <code>{partsOf(event).from ?? ''}</code> },
              ]}
            />
          )}
        </>
      )}
    </Loaded>
  );
}

function What({ event }: { event: ClusterEvent }) {
  const { what, why } = partsOf(event);
  const isBad = event.type === 'Warning';
  return (
    <>
      <span class={`phase ${isBad ? 'bad' : 'ok'}`}>
        <Icon of={isBad ? CircleAlert : CircleCheck} />
        <span>{what}</span>
      </span>
      {why && <div class="muted small">{tOf('history', why)}</div>}
    </>
  );
}

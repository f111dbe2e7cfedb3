/** The users who did the most, with what tells programs from people. Loaded when it is opened. */
import './styles';
import { useSignal } from '@preact/signals';
import { api, bodyOf, type Schemas } from '../../api/client';
import { useLoad } from '../../api/load';
import { href, query } from '../../app/router';
import { count, t } from '../../text/text';
import { Loaded } from '../../ui/loaded';
import { PlainTable } from '../../ui/plain-table';
import { conditionsIn } from './question';

const most = 10;

type Actor = Schemas['AuditCounts']['items'][number];

/** @param asked conditions of the address, which the table belongs to */
export function MostActive({ asked }: { asked: string }) {
  const isOpen = useSignal(false);
  return (
    <details
      onToggle={({ currentTarget }) => {
        isOpen.value = currentTarget.open;
      }}
    >
      <summary>{t('activity.mostActive')}</summary>
      {isOpen.value && <Actors asked={asked} />}
    </details>
  );
}

function Actors({ asked }: { asked: string }) {
  const load = useLoad(`audit/most/${asked}`, (signal) => {
    const conditions = conditionsIn(query.peek(), Date.now());
    return bodyOf(api.GET('/auth/v1/audit/counts', { params: { query: { ...conditions, by: 'actor' } }, signal }));
  });
  return (
    <Loaded load={load}>
      {({ items }) => (
        <PlainTable
          label={t('activity.mostActive')}
          rows={items.slice(0, most)}
          idOf={({ actor = '' }) => actor}
          columns={[
            { title: t('activity.who'), cell: (item) => <Name of={item} /> },
            { title: t('activity.kindOfActor'), cell: ({ kind = 'User' }) => t(`activity.kindOfActor.${kind}`) },
            { title: t('activity.count'), isNumber: true, cell: (item) => count(item.count) },
            { title: t('activity.failures'), isNumber: true, cell: (item) => count(item.failures) },
            { title: t('activity.withToken'), isNumber: true, cell: ({ withToken = 0 }) => count(withToken) },
          ]}
        />
      )}
    </Loaded>
  );
}

const Name = ({ of: { actor = '' } }: { of: Actor }) =>
  actor === '' ? (
    <>Atrium</>
  ) : (
    <a href={href(`/activity?${new URLSearchParams({ ...Object.fromEntries(query.value), actor })}`)}>
      <bdi>{actor}</bdi>
    </a>
  );

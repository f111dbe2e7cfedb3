import { Plus } from 'lucide';
import { api, bodyOf } from '../../api/client';
import { follow } from '../../api/live';
import { useFeature } from '../../api/version';
import { windowSize } from '../../api/window-size';
import { type Asked, type List, ListPage } from '../../app/list-page';
import { type AccessRequest, inbox, isUnreviewed, placeOf } from '../../app/own-requests';
import { may, useRights } from '../../app/rights';
import { href, query } from '../../app/router';
import { person } from '../../app/session';
import { count, t } from '../../text/text';
import { Age, Ago } from '../../ui/age';
import { Notice } from '../../ui/state';
import type { Column } from '../../ui/table';
import { Tabs } from '../../ui/tabs';
import { UseOfAccess } from './use-of-access';
import { phaseName, phases, RequestPhase } from './words';

const listRight = { verb: 'list', resource: 'accessrequests' };
const watchRight = { verb: 'watch', resource: 'accessrequests' };
const sortable = ['-creationTimestamp', 'requester', 'roleRef', 'phase', 'until'];

const views = ['mine', 'inbox', 'all'] as const;
type View = (typeof views)[number];

function viewIn(address: URLSearchParams): View {
  const named = address.get('view');
  return views.find((view) => view === named) ?? 'mine';
}

/** Returns the query parameters of a view. Users without a record have no requests. */
function parametersOf(view: View, { parameters, chosen: { phase = '' } }: Asked) {
  const own = person.value?.ext.user ?? '-';
  return {
    ...parameters,
    ...(view === 'mine' && { fieldSelector: `spec.record=${own}` }),
    ...(view === 'inbox' && { inbox: 'true' as const }),
    ...(phase && { filterBy: [`phase,${phase}`] }),
  };
}

function liveAddress(view: View, asked: Asked, resourceVersion: string): string {
  const { sortBy: _, filterBy = [], ...selected } = parametersOf(view, asked);
  const address = new URLSearchParams({ ...selected, watch: 'true', resourceVersion });
  for (const filter of filterBy) address.append('filterBy', filter);
  return `auth/v1/accessrequests?${address}`;
}

const requestList = (view: View, isLive: boolean): List<AccessRequest> => ({
  key: `requests/${view}`,
  label: t('requests.title'),
  none: t(`requests.none.${view}`),
  search: t('requests.search'),
  ...(view !== 'inbox' && {
    filters: [
      {
        name: 'phase',
        label: t('users.phase'),
        any: t('users.anyPhase'),
        options: phases.map((phase) => [phase, phaseName(phase)] as const),
      },
    ],
  }),
  columns: columns(view),
  sortable,
  nameOf: (request) => `${request.spec.roleRef} ${placeOf(request)}`,
  fetch: (asked) => (page, signal) =>
    bodyOf(api.GET('/auth/v1/accessrequests', { params: { query: { ...parametersOf(view, asked), page, limit: windowSize } }, signal })),
  follow: isLive
    ? (asked) =>
        ({ resourceVersion, ...following }) =>
          follow<AccessRequest>({ address: liveAddress(view, asked, resourceVersion), ...following })
    : undefined,
});

export function Page() {
  useRights([listRight, watchRight]);
  const isOn = useFeature('watch');
  const view = viewIn(query.value);
  const isAll = view === 'all';
  return (
    <ListPage
      key={view}
      list={requestList(view, isOn && (!isAll || may(watchRight) === true))}
      {...(isAll && { right: listRight })}
      views={<Views current={view} />}
      offers={[{ rights: [], label: t('requests.new'), icon: Plus, to: '/requests/new', isMain: true }]}
    />
  );
}

function Views({ current }: { current: View }) {
  const waiting = inbox.value.length;
  const labelOf = (view: View) => t(`requests.view.${view}`) + (view === 'inbox' && waiting > 0 ? ` (${count(waiting)})` : '');
  const shown = views.filter((view) => view !== 'all' || current === 'all' || may(listRight) === true);
  return (
    <>
      <Tabs
        label={t('requests.title')}
        tabs={shown.map((view) => ({ id: view, label: labelOf(view) }))}
        current={current}
        to={(view) => (view === 'mine' ? '/requests' : `/requests?view=${view}`)}
      />
      {/* The menu leads to the inbox once it is read, and a quick click comes before. */}
      {current === 'mine' && waiting > 0 && (
        <Notice kind="info">
          <a href={href('/requests?view=inbox')}>{t('requests.waiting', { count: waiting })}</a>
        </Notice>
      )}
    </>
  );
}

const whoOf = ({ spec: { requester, reason } }: AccessRequest) => (
  <>
    {requester}
    {reason && <span class="on-phone">: {reason}</span>}
  </>
);

/** Requests in the inbox have no end yet. */
const ends = (): Column<AccessRequest> => ({
  id: 'until',
  title: t('requests.ends'),
  sortBy: 'until',
  isMinor: true,
  cell: ({ status }) => <Ago since={status?.ended ?? status?.until} />,
});

/** Requests in the inbox gave no access yet. */
const activity = (): Column<AccessRequest> => ({
  id: 'activity',
  title: t('activity.title'),
  cell: (request) => <UseOfAccess request={request}>{t('activity.withAccess')}</UseOfAccess>,
});

const columns = (view: View): readonly Column<AccessRequest>[] => [
  {
    id: 'role',
    title: t('roles.role'),
    sortBy: 'roleRef',
    cell: (request) => (
      <>
        <a class="strong" href={href(`/requests/${request.metadata.name}`)}>
          {request.spec.roleRef}
        </a>
        {request.spec.breakGlass && ' '}
        {request.spec.breakGlass && <span class={`chip ${isUnreviewed(request) ? 'bad' : ''}`}>{t('requests.breakGlass')}</span>}
        <span class="on-phone"> · {placeOf(request)}</span>
      </>
    ),
  },
  { id: 'where', title: t('roles.where'), isMinor: true, cell: placeOf },
  ...(view === 'mine' ? [] : [{ id: 'who', title: t('requests.requester'), sortBy: 'requester', cell: whoOf }]),
  { id: 'reason', title: t('requests.why'), cell: ({ spec: { reason } }) => <span title={reason}>{reason}</span> },
  { id: 'phase', title: t('users.phase'), sortBy: 'phase', cell: (request) => <RequestPhase request={request} /> },
  ...(view === 'inbox' ? [] : [ends(), activity()]),
  {
    id: 'created',
    title: t('requests.asked'),
    sortBy: 'creationTimestamp',
    isMinor: true,
    cell: ({ metadata }) => <Age since={metadata.creationTimestamp} />,
  },
];

/** Standing access: bindings that hold for good, and the last use of each. */
import { useSignal } from '@preact/signals';
import { CircleAlert, CircleCheck, CircleQuestionMark, Info, X } from 'lucide';
import { useEffect } from 'preact/hooks';
import { api, bodyOf, type Schemas } from '../../api/client';
import { useLoad } from '../../api/load';
import { useFeature } from '../../api/version';
import { useMyNamespaces } from '../../app/namespace';
import { QueryChoice } from '../../app/query-choice';
import { may, type Right, useRights } from '../../app/rights';
import { query, setQuery } from '../../app/router';
import { dateOnly, t } from '../../text/text';
import { Ago } from '../../ui/age';
import { Button } from '../../ui/button';
import { Icon } from '../../ui/icon';
import { Loaded } from '../../ui/loaded';
import { PlainTable } from '../../ui/plain-table';
import { Empty, Notice } from '../../ui/state';
import { activityHref } from '../activity/activity-link';
import { BindingLink, inNamespace, nameOf, RoleLink } from './grants';
import { Proposal } from './proposal';
import { Reviews } from './reviews';

type List = Schemas['StandingAccessList'];
export type Item = List['items'][number];

const limit = 20;
const maxShownSubjects = 3;
const periods = ['30', '180', '365'] as const;

export function Standing() {
  const namespaces = useMyNamespaces().data.value?.items.map(({ metadata }) => metadata.name) ?? [];
  const hasReviews = useFeature('accessRequests');
  const isEverywhere = !query.value.get('namespace');
  const mayList = useMayList(isEverywhere, namespaces);
  const names = ['namespace', 'name', 'role', 'days', 'holders', 'page'];
  const asked = names.map((name) => query.value.get(name) ?? '').join('\n');
  return (
    <section aria-label={t('explorer.tab.standing')}>
      <p class="muted measure">{t('explorer.standing.what')}</p>
      {hasReviews && <Reviews />}
      <search class="row" aria-label={t('explorer.standing.filters')}>
        <QueryChoice
          name="namespace"
          label={t('access.namespace')}
          any={t('explorer.everywhere')}
          options={namespaces.map((name) => [name, name])}
        />
        <QueryChoice
          name="days"
          label={t('explorer.standing.period')}
          any={t('explorer.standing.days', { count: 90 })}
          options={periods.map((days) => [days, t('explorer.standing.days', { count: Number(days) })])}
        />
        <QueryChoice
          name="holders"
          label={t('explorer.standing.holders')}
          any={t('explorer.standing.people')}
          options={[['All', t('explorer.standing.all')]]}
        />
        {given.map((name) => query.value.get(name) && <Given key={name} name={name} value={query.value.get(name) ?? ''} />)}
      </search>
      {mayList === false && <Empty text={t('explorer.standing.choose')} />}
      {mayList && <Bindings key={asked} asked={asked} />}
    </section>
  );
}

const everywhere: readonly Right[] = [
  { verb: 'list', group: 'rbac.authorization.k8s.io', resource: 'rolebindings' },
  { verb: 'list', resource: 'audits' },
];

/** Returns whether to list the bindings; undefined while it is not known. The owner of one namespace sees that one. */
function useMayList(isEverywhere: boolean, namespaces: readonly string[]): boolean | undefined {
  useRights(isEverywhere ? everywhere : []);
  const answers = everywhere.map(may);
  const mayList = !isEverywhere || (answers.includes(false) ? false : answers.includes(undefined) ? undefined : true);
  const [only] = mayList === false && namespaces.length === 1 ? namespaces : [];
  useEffect(() => {
    if (only !== undefined) setQuery({ namespace: only });
  }, [only]);
  return mayList;
}

/** Conditions that other pages set, and this one takes away. */
const given = ['name', 'role'] as const;

const Given = ({ name, value }: { name: (typeof given)[number]; value: string }) => (
  <Button kind="quiet" icon={X} onClick={() => setQuery({ [name]: '', page: '' })}>
    {t(`explorer.standing.given.${name}`, { name: value })}
  </Button>
);

function readList(signal: AbortSignal): Promise<List> {
  const asked = query.peek();
  const [namespace, name, role, holders] = ['namespace', 'name', 'role', 'holders'].map((of) => asked.get(of) ?? '');
  const parameters = {
    ...{ limit, page: pageIn(asked), days: Number(asked.get('days') || 90) },
    ...(holders && { holders: holders as 'All' }),
    ...(namespace && { namespace }),
    ...(name && { name }),
    ...(role && { role }),
  };
  return bodyOf(api.GET('/auth/v1/standingaccess', { params: { query: parameters }, signal }));
}

const pageIn = (asked: URLSearchParams): number => Math.max(1, Math.trunc(Number(asked.get('page'))) || 1);

function Bindings({ asked }: { asked: string }) {
  const load = useLoad(`standing/${asked}`, readList);
  return (
    <Loaded load={load}>
      {(list) => (
        <>
          <p class="muted measure">{t(`explorer.standing.direct.${list.directRequests}`)}</p>
          {list.notes.map((note) => (
            <Notice key={note} kind="warn">
              {t(`explorer.note.${note}`)}
            </Notice>
          ))}
          {list.auditedSince !== undefined && list.auditedSince > list.from && (
            <Notice kind="info">{t('explorer.standing.auditedSince', { date: dateOnly(list.auditedSince) })}</Notice>
          )}
          {list.items.length === 0 ? <Empty text={t('explorer.standing.none')} /> : <Table list={list} />}
          <Pages total={list.total} />
        </>
      )}
    </Loaded>
  );
}

function Pages({ total }: { total: number }) {
  const page = pageIn(query.value);
  if (total <= limit && page === 1) return null;
  const to = (next: number) => setQuery({ page: next === 1 ? '' : String(next) });
  return (
    <div class="buttons">
      <span class="muted">{t('explorer.standing.total', { count: total })}</span>
      <Button isDisabled={page === 1} onClick={() => to(page - 1)}>
        {t('explorer.standing.previous')}
      </Button>
      <Button isDisabled={page * limit >= total} onClick={() => to(page + 1)}>
        {t('explorer.standing.next')}
      </Button>
    </div>
  );
}

function Table({ list: { items } }: { list: List }) {
  const chosen = useSignal<Item | undefined>(undefined);
  const canPropose = useFeature('accessRequests');
  return (
    <>
      <PlainTable
        label={t('explorer.tab.standing')}
        idOf={({ binding }) => `${binding.namespace} ${binding.kind} ${binding.name}`}
        rows={items}
        columns={[
          { title: t('explorer.standing.severity'), cell: (item) => <Severity of={item} /> },
          { title: t('explorer.role'), cell: (item) => <Held of={item} /> },
          { title: t('access.namespace'), cell: ({ binding }) => inNamespace(binding.namespace) },
          { title: t('explorer.binding'), cell: ({ binding }) => <BindingLink of={binding} /> },
          { title: t('explorer.standing.use'), cell: (item) => <Use of={item} /> },
          {
            title: '',
            cell: (item) =>
              canPropose && (
                <Button kind="quiet" onClick={() => (chosen.value = item)}>
                  {t('explorer.standing.replace')}
                </Button>
              ),
          },
        ]}
      />
      {chosen.value && <Proposal of={chosen.value} onClose={() => (chosen.value = undefined)} />}
    </>
  );
}

const shapes = {
  Critical: ['bad', CircleAlert],
  High: ['warn', CircleAlert],
  Unknown: ['off', CircleQuestionMark],
  Medium: ['info', Info],
  Low: ['ok', CircleCheck],
} as const;

function Severity({ of: { severity, findings } }: { of: Item }) {
  const [tone, icon] = shapes[severity];
  const told = findings.filter((finding) => finding !== 'NotSeen');
  return (
    <>
      <span class={`phase ${tone}`}>
        <Icon of={icon} />
        <span>{t(`explorer.severity.${severity}`)}</span>
      </span>
      {told.map((finding) => (
        <div key={finding} class="muted small">
          {t(`explorer.finding.${finding}`)}
        </div>
      ))}
    </>
  );
}

/** The role, and its holders. */
function Held({ of: { role, people, subjects } }: { of: Item }) {
  const shown = subjects.slice(0, maxShownSubjects).map(nameOf);
  const more = subjects.length - shown.length;
  return (
    <>
      <RoleLink of={role} /> {people > 0 && t('explorer.standing.for', { count: people })}
      <div class="muted small">
        <bdi>{shown.join(', ')}</bdi>
        {more > 0 && ` ${t('chain.more', { count: more })}`}
      </div>
    </>
  );
}

function Use({ of: { use, people } }: { of: Item }) {
  if (use.state === 'Unknown')
    return (
      <>
        {t('explorer.standing.unknown')}
        <div class="muted small">{t(`explorer.standing.unknown.${use.reason}`)}</div>
      </>
    );
  if (use.state === 'NotSeen') return t('explorer.standing.notSeen', { date: dateOnly(use.since) });
  const { user, verb, objectRef, requestReceivedTimestamp } = use.last;
  const { resource, subresource, namespace, name } = objectRef;
  const what = [resource, subresource, name].filter(Boolean).join('/');
  return (
    <>
      <Ago since={requestReceivedTimestamp} />,{' '}
      {t(use.atLeast ? 'explorer.standing.usedByAtLeast' : 'explorer.standing.usedBy', {
        count: use.users,
        people: Math.max(people, use.users),
      })}
      <div class="muted small">
        <a href={activityHref({ actor: user, since: 'all' })}>
          <bdi>{user}</bdi>
        </a>{' '}
        <code>
          {verb} {what}
        </code>
        {namespace !== undefined && ` ${t('explorer.standing.in', { namespace })}`}
      </div>
    </>
  );
}

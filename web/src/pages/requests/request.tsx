import { useSignal } from '@preact/signals';
import { CircleStop } from 'lucide';
import { type AccessRequest, endRequest, isUnreviewed, placeOf } from '../../app/own-requests';
import type { PageProps } from '../../app/page-props';
import { RefusedMenu } from '../../app/refused-menu';
import { may, useRights } from '../../app/rights';
import { href } from '../../app/router';
import { person } from '../../app/session';
import { dateTime, duration, t } from '../../text/text';
import { Button } from '../../ui/button';
import { Confirm } from '../../ui/confirm';
import { Facts } from '../../ui/facts';
import { Loaded } from '../../ui/loaded';
import { RuleList, RulesOf } from '../../ui/rules';
import { Empty, Notice } from '../../ui/state';
import { toast } from '../../ui/toast';
import { ActivityLink } from '../activity/activity-link';
import { Decision } from './decision';
import { OtherAccess } from './other-access';
import { Timeline } from './timeline';
import { UseOfAccess } from './use-of-access';
import { useRequest } from './use-request';
import { RequestPhase, reasonOf } from './words';

const isOwn = ({ spec }: AccessRequest): boolean => spec.record === person.value?.ext.user;

export function Page({ params: { name = '' } }: PageProps) {
  const load = useRequest(name);
  const request = load.data.value;
  return (
    <section class="page">
      <p class="crumb">
        <a href={href('/requests')}>{t('requests.title')}</a>
      </p>
      <header class="page-head">
        <h1 tabIndex={-1}>{request ? t('requests.of', { role: request.spec.roleRef, who: request.spec.requester }) : name}</h1>
        {request && <RequestPhase request={request} />}
        <div class="buttons">{request && <End request={request} />}</div>
      </header>
      <Loaded load={load} lost={load.lost.value}>
        {(shown) => <Parts request={shown} />}
      </Loaded>
    </section>
  );
}

/** Withdraws the request or ends its access. Approvers and callers who may delete the UserBinding end the access of others. */
function End({ request }: { request: AccessRequest }) {
  const isOpen = useSignal(false);
  const { metadata, spec, status, role } = request;
  const see = { verb: 'get', resource: 'accessrequests', name: metadata.name };
  const remove = { verb: 'delete', resource: 'userbindings', name: `ar-${metadata.uid}` };
  useRights([see, remove]);
  const phase = status?.phase ?? 'Pending';
  const isPending = phase === 'Pending';
  if (!['Pending', 'Approving', 'Scheduled', 'Active'].includes(phase) || (isPending && !isOwn(request))) return null;
  const label = t(isPending ? 'requests.withdraw' : 'ownAccess.endNow');
  // Approvers see the rules of the role. Callers without the right to get the request see it as its approvers, too.
  const mayEnd = isOwn(request) || role !== undefined || may(see) === false || may(remove) === true;
  if (!mayEnd) return <RefusedMenu of={[{ rights: [remove], label, icon: CircleStop }]} />;
  const show = (isShown: boolean) => () => {
    isOpen.value = isShown;
  };
  async function end(): Promise<void> {
    await endRequest(metadata.name);
    isOpen.value = false;
    toast('ok', t(isPending ? 'requests.withdrawn' : 'requests.accessEnded'));
  }
  return (
    <>
      <Button kind="danger" icon={CircleStop} onClick={show(true)}>
        {label}
      </Button>
      {isOpen.value && (
        <Confirm title={label} onConfirm={end} onClose={show(false)}>
          <p>{t(isPending ? 'requests.withdrawWhat' : 'ownAccess.endWhat', { role: spec.roleRef, place: placeOf(request) })}</p>
        </Confirm>
      )}
    </>
  );
}

function Parts({ request }: { request: AccessRequest }) {
  const { spec } = request;
  return (
    <>
      {isUnreviewed(request) && <Notice>{t('requests.unreviewed')}</Notice>}
      {!isOwn(request) && <Decision request={request} />}
      <div class="cards">
        <section class="card" aria-labelledby="request-title">
          <h2 id="request-title">{t('requests.request')}</h2>
          <RequestFacts request={request} />
        </section>
        <section class="card" aria-labelledby="rules-title">
          <h2 id="rules-title">{t('bindings.rules')}</h2>
          <Role request={request} />
        </section>
        {!isOwn(request) && (
          <section class="card" aria-labelledby="other-title">
            <h2 id="other-title">{t('requests.other')}</h2>
            <OtherAccess key={spec.record} request={request} />
          </section>
        )}
      </div>
      <section class="card" aria-labelledby="timeline-title">
        <h2 id="timeline-title">{t('requests.timeline')}</h2>
        <Timeline request={request} />
        <p class="buttons">
          <ActivityLink of={{ kind: 'accessrequests.auth.platform.io', name: request.metadata.name, since: 'all' }}>
            {t('activity.ofRequest')}
          </ActivityLink>
          <UseOfAccess request={request}>{t('activity.ofAccess')}</UseOfAccess>
        </p>
      </section>
    </>
  );
}

function Role({ request: { spec, status, role } }: { request: AccessRequest }) {
  return (
    <>
      {status?.rulesChangedAt && <Notice kind="warn">{t('requests.rulesChangedAt', { time: dateTime(status.rulesChangedAt) })}</Notice>}
      {role === undefined ? (
        <RulesOf role={spec.roleRef} />
      ) : role.rules.length === 0 ? (
        <Empty text={t('rules.none')} />
      ) : (
        <RuleList rules={role.rules.map(withoutEmpty)} />
      )}
    </>
  );
}

/** The service fills in the members that a rule does not have. */
const withoutEmpty = <T extends object>(rule: T): Partial<T> =>
  Object.fromEntries(Object.entries(rule).filter(([, texts]) => (texts as string[]).length > 0)) as Partial<T>;

function RequestFacts({ request }: { request: AccessRequest }) {
  const { metadata, spec, status = {} } = request;
  const count = (status.decisions ?? []).filter(({ approve, isVoid }) => approve && !isVoid).length;
  const isOver = status.phase !== 'Pending' && reasonOf(status) !== '';
  return (
    <Facts
      of={[
        [t('requests.requester'), spec.requester],
        [t('roles.role'), <code key="role">{spec.roleRef}</code>],
        [t('roles.where'), placeOf(request)],
        [t('requests.why'), spec.reason],
        [t('requests.ticket'), spec.ticket],
        [t('requests.asked'), dateTime(metadata.creationTimestamp)],
        [t('requests.duration'), duration(spec.durationSeconds)],
        [t('requests.earliest'), spec.notBefore && dateTime(spec.notBefore)],
        [t('bindings.from'), status.begin && dateTime(status.begin)],
        [t('bindings.until'), !status.ended && status.until && dateTime(status.until)],
        [t('requests.ended'), status.ended && dateTime(status.ended)],
        [t('requests.approvals'), !spec.breakGlass && t('requests.approvalsOf', { count, needed: spec.approvals })],
        [t('requests.policy'), spec.policy.name],
        [t('requests.over'), isOver && reasonOf(status)],
      ]}
    />
  );
}

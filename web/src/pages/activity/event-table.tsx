import { useSignal } from '@preact/signals';
import { CircleAlert, CircleCheck, Info } from 'lucide';
import { Fragment } from 'preact';
import type { Kind } from '../../api/kinds';
import { useLoad } from '../../api/load';
import { href } from '../../app/router';
import { t } from '../../text/text';
import { Ago } from '../../ui/age';
import { Icon } from '../../ui/icon';
import { Loaded } from '../../ui/loaded';
import { PlainTable } from '../../ui/plain-table';
import { StandingLink } from '../explorer/standing-link';
import { type AuditEvent, changedAccess, hadEffect } from './actions';
import { RecordingLink } from './recording-link';
import { Sentence } from './sentence';
import './styles';

interface EventTableProps {
  label: string;
  events: readonly AuditEvent[];
  kinds: readonly Kind[];
  isAtObject?: boolean;
}

/** Events as sentences, with their outcomes. */
export const EventTable = ({ label, events, kinds, isAtObject = false }: EventTableProps) => (
  <PlainTable
    label={label}
    rows={events}
    idOf={({ auditID }) => auditID}
    columns={[
      {
        title: t('history.when'),
        cell: ({ auditID, requestReceivedTimestamp }) => (
          <a class="when" href={href(`/activity/events/${encodeURIComponent(auditID)}`)}>
            <Ago since={requestReceivedTimestamp} />
          </a>
        ),
      },
      { title: t('history.what'), cell: (event) => <What event={event} kinds={kinds} isAtObject={isAtObject} /> },
      { title: t('activity.outcome'), cell: (event) => <Outcome event={event} /> },
      {
        title: t('history.from'),
        cell: ({ source, sourceIPs }) => (
          <>
            <code class="source">{sourceIPs.join(', ')}</code> {source === 'kube-apiserver' && <small>{t('activity.direct')}</small>}
          </>
        ),
      },
    ]}
  />
);

const What = (props: Parameters<typeof Sentence>[0]) => {
  const { accessRequests = [], connection, requestObject } = props.event;
  const { recording } = connection ?? {};
  const access = changedAccess(props.event);
  return (
    <>
      <Sentence {...props} /> {recording !== undefined && <RecordingLink id={recording} />}
      {access && <StandingLink {...access} />}
      {accessRequests.length > 0 && <AccessRequests names={accessRequests} />}
      {requestObject !== undefined && <RequestBody event={props.event} />}
    </>
  );
};

/** Links to the access requests by which the user had a role then. */
export const AccessRequests = ({ names }: { names: readonly string[] }) => (
  <div class="muted small">
    {t('activity.accessRequests')}{' '}
    {names.map((name, index) => (
      <Fragment key={name}>
        {index > 0 && ', '}
        <a href={href(`/requests/${encodeURIComponent(name)}`)}>
          <bdi>{name}</bdi>
        </a>
      </Fragment>
    ))}
  </div>
);

export function RequestBody({ event, isOpen: isOpenAtFirst = false }: { event: AuditEvent; isOpen?: boolean }) {
  const isOpen = useSignal(isOpenAtFirst);
  const load = useLoad(isOpen.value ? 'audit/written' : undefined, () => import('./written'));
  return (
    <details
      class="told"
      open={isOpenAtFirst}
      onToggle={({ currentTarget }) => {
        isOpen.value = currentTarget.open;
      }}
    >
      <summary>{t(event.verb === 'patch' ? 'activity.changedFields' : 'activity.request')}</summary>
      {isOpen.value && <Loaded load={load}>{({ Written }) => <Written event={event} />}</Loaded>}
    </details>
  );
}

export function Outcome({ event }: { event: AuditEvent }) {
  const { code } = event.responseStatus ?? {};
  const failure = t(code === 403 ? 'activity.refused' : 'activity.failed');
  const [tone, icon, text] =
    event.outcome === 'failure'
      ? (['bad', CircleAlert, code === undefined ? failure : `${failure} (${code})`] as const)
      : event.outcome === 'unknown'
        ? (['warn', Info, t('activity.unknown')] as const)
        : hadEffect(event)
          ? (['ok', CircleCheck, t('activity.done')] as const)
          : (['info', Info, t('activity.dryRun')] as const);
  return (
    <span class={`phase ${tone}`}>
      <Icon of={icon} />
      <span>{text}</span>
    </span>
  );
}

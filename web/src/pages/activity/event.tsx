/** Page of an event with all its fields, at an address of its own. */
import './styles';
import type { ComponentChildren } from 'preact';
import { api, bodyOf } from '../../api/client';
import { fetchKinds, type Kind } from '../../api/kinds';
import { useLoad } from '../../api/load';
import { agentName } from '../../app/agent-name';
import { href } from '../../app/router';
import { count, dateTime, t } from '../../text/text';
import { Copy } from '../../ui/copy';
import { Facts } from '../../ui/facts';
import { Loaded } from '../../ui/loaded';
import type { AuditEvent } from './actions';
import { activityHref } from './activity-link';
import { AccessRequests, Outcome, RequestBody } from './event-table';
import type { conditionNames } from './question';
import { RecordingLink } from './recording-link';
import { Sentence } from './sentence';

const noKinds: readonly Kind[] = [];

export function EventPage({ id }: { id: string }) {
  const kinds = useLoad('kinds', fetchKinds).data.value ?? noKinds;
  const load = useLoad(`event/${id}`, (signal) => bodyOf(api.GET('/auth/v1/audit/{id}', { params: { path: { id } }, signal })));
  return (
    <section class="page">
      <p class="crumb">
        <a href={href('/activity')}>{t('activity.title')}</a>
      </p>
      <h1 tabIndex={-1}>{t('activity.detail.title')}</h1>
      <Loaded load={load}>{(event) => <OneEvent event={event} kinds={kinds} />}</Loaded>
    </section>
  );
}

function OneEvent({ event, kinds }: { event: AuditEvent; kinds: readonly Kind[] }) {
  const { accessRequests = [], connection: { recording } = {}, requestObject } = event;
  return (
    <>
      <p>
        <Sentence event={event} kinds={kinds} /> {recording !== undefined && <RecordingLink id={recording} />}
      </p>
      <Facts of={[...factsOfAction(event), ...factsOfUser(event), ...factsOfRequest(event)]} />
      {accessRequests.length > 0 && <AccessRequests names={accessRequests} />}
      {requestObject !== undefined && <RequestBody event={event} isOpen />}
      <h2>{t('activity.detail.json')}</h2>
      <Copy label={t('activity.detail.json')} text={JSON.stringify(event, undefined, 2)} />
    </>
  );
}

type Fact = readonly [string, ComponentChildren];

/** Time of an event, and what came of it. */
const factsOfAction = (event: AuditEvent): Fact[] => [
  [t('history.when'), `${dateTime(event.requestReceivedTimestamp)} (${event.requestReceivedTimestamp})`],
  [t('activity.outcome'), <Outcome event={event} />],
  [t('activity.detail.reason'), event.reason],
  [t('activity.detail.allowedBy'), event.annotations?.['authorization.k8s.io/reason']],
];

/** User of an event, with the credential and the program. */
const factsOfUser = ({ user, impersonatedUser, session, accessToken, issuer, agent, sourceIPs, userAgent }: AuditEvent): Fact[] => [
  [t('activity.detail.user'), user && <bdi>{user.username}</bdi>],
  [t('activity.detail.groups'), user?.groups && <bdi>{user.groups.join(', ')}</bdi>],
  [t('activity.detail.view'), impersonatedUser && <bdi>{impersonatedUser.username}</bdi>],
  [t('activity.detail.session'), linkOf('session', session)],
  [t('activity.detail.accessToken'), linkOf('accessToken', accessToken)],
  [t('activity.detail.issuer'), issuer],
  [t('activity.detail.agent'), agent && <bdi>{agentName(agent)}</bdi>],
  [t('activity.detail.address'), sourceIPs.length > 0 && <code>{sourceIPs.join(', ')}</code>],
  [t('activity.detail.client'), userAgent && <bdi>{userAgent}</bdi>],
];

/** Ids, time and size of the request. */
const factsOfRequest = ({ source, cluster, requestID, traceID, milliseconds, connection, ...event }: AuditEvent): Fact[] => [
  [t('activity.detail.request'), linkOf('request', requestID)],
  [t('activity.detail.trace'), traceID && <code>{traceID}</code>],
  [t('activity.detail.duration'), milliseconds !== undefined && `${count(milliseconds)} ms`],
  [t('activity.detail.sent'), bytes(event.requestBytes ?? connection?.bytesSent)],
  [t('activity.detail.received'), bytes(event.responseBytes ?? connection?.bytesReceived)],
  [t('activity.detail.source'), t(`activity.detail.source.${source}`)],
  [t('activity.detail.cluster'), cluster],
];

const bytes = (number: number | undefined) => number !== undefined && `${count(number)} B`;

/** Link to the events that share a value. */
const linkOf = (condition: (typeof conditionNames)[number], value: string | undefined) =>
  value && (
    <a href={activityHref({ [condition]: value, since: 'all' })}>
      <code>{value}</code>
    </a>
  );

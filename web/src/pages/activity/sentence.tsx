/** Sentences about events, such as "ada@example.com scaled Deployment storefront in shop from 2 to 5". */
import type { ComponentChildren } from 'preact';
import { type Kind, kindId, pageOf } from '../../api/kinds';
import { agentName } from '../../app/agent-name';
import { href } from '../../app/router';
import { dateTime, t } from '../../text/text';
import { type AuditEvent, actionOf, hadEffect, serviceActionOf, toldAction } from './actions';
import { activityHref } from './activity-link';
import { connectionSentence } from './connection-sentence';
import { textWith } from './text-with';

interface SentenceProps {
  event: AuditEvent;
  /** Empty while they load: objects are named by their resource, without a link. */
  kinds: readonly Kind[];
  /** Leaves out the namespace of the object, on a page of that object. */
  isAtObject?: boolean;
}

export function Sentence(props: SentenceProps) {
  const { event } = props;
  const done = <Done {...props} />;
  const { agent } = wordsOf(event);
  if (event.event === 'ChangeProposalConfirmed') return textWith('activity.asProposed', { done, agent });
  return event.event === 'AgentChangedObject' ? textWith('activity.byAgent', { done, agent }) : done;
}

function Done({ event, kinds, isAtObject = false }: SentenceProps) {
  const { verb, objectRef, changes = [] } = event;
  const who = <Actor of={event} />;
  const what = <Target of={objectRef} user={event.objectUser} kinds={kinds} isAtObject={isAtObject} />;
  const told = serviceActionOf(event);
  if (told !== undefined)
    return textWith(`activity.service.${told}`, { who, what, shell: <Shell of={event} kinds={kinds} />, ...wordsOf(event) });
  const done = toldAction(event);
  const gift = done === 'grant' ? 'grant' : verb === 'delete' && hadEffect(event) ? 'revoke' : undefined;
  if (gift !== undefined && event.grant) {
    const { subjects } = event.grant;
    return textWith(`activity.${gift}`, {
      who,
      what,
      role: <Granted of={event.grant} />,
      subjects: <bdi>{subjects.map(nameIn).join(', ')}</bdi>,
    });
  }
  if (done !== undefined && done !== 'grant' && done !== 'scale') return textWith(`activity.${done}`, { who, what });
  const action = done === 'scale' ? 'scale' : actionOf(event);
  if (action === undefined && event.event !== undefined) return textWith('activity.event', { event: <code>{event.event}</code>, what });
  if (action === undefined) return textWith('activity.other', { who, verb: <code>{verb}</code>, what });
  const connected = connectionSentence(event, action, { who, what });
  if (connected !== undefined) return connected;
  if (!hadEffect(event)) return textWith(`activity.tried.${action}`, { who, what });
  if (action !== 'scale') return textWith(`activity.${action}`, { who, what });
  const { from, to } = changes.find(({ field }) => field === 'spec.replicas') ?? {};
  if (to === undefined) return textWith('activity.change', { who, what });
  return from === undefined ? textWith('activity.scaleTo', { who, what, to }) : textWith('activity.scale', { who, what, from, to });
}

/** The shell of a recording that was read or removed. Events of earlier versions do not name it. */
function Shell({ of: { shell, objectRef }, kinds }: { of: AuditEvent; kinds: readonly Kind[] }) {
  if (shell === undefined) return t('activity.recording.ofUnknown');
  const pod = { ...objectRef, apiGroup: '', resource: 'pods', name: shell.pod };
  return textWith('activity.recording.ofShell', {
    user: <ActorLink name={shell.user} />,
    pod: <Target of={pod} user={undefined} kinds={kinds} isAtObject={false} />,
  });
}

/** Returns what the sentences about actions of the service name beside the user and the object. */
function wordsOf({ access, agent, binding = '', event, objectRef, verb }: AuditEvent): Readonly<Record<string, ComponentChildren>> {
  const { requester, role } = access ?? {};
  return {
    binding: <bdi>{nameIn(binding)}</bdi>,
    requester: <bdi>{requester}</bdi>,
    role: event === 'AccessGranted' && access ? <Granted of={access} /> : <bdi>{role}</bdi>,
    agent: <bdi>{agent && agentName(agent)}</bdi>,
    tool: <code>{agent?.tool}</code>,
    verb: <code>{verb}</code>,
    events: <bdi>{objectRef.name}</bdi>,
  };
}

interface Grant {
  role: string;
  namespaces?: readonly string[] | undefined;
  until?: string | undefined;
}

/** A role with its namespaces and its end, such as "edit in shop until Nov 30, 2026, 12:00 PM". */
function Granted({ of: { role, namespaces = [], until } }: { of: Grant }) {
  const held = inNamespace(<bdi>{nameIn(role)}</bdi>, namespaces.length > 0 ? namespaces.join(', ') : undefined);
  return until === undefined ? held : textWith('activity.until', { what: held, time: dateTime(until) });
}

/** Returns the name in `Kind/name` or `Kind/namespace/name`. */
const nameIn = (place: string): string => place.slice(place.indexOf('/') + 1);

function Actor({ of: { user, impersonatedUser } }: { of: AuditEvent }) {
  const who = user ? <ActorLink name={user.username} /> : 'Atrium';
  return impersonatedUser ? textWith('activity.as', { who, as: <bdi>{impersonatedUser.username}</bdi> }) : who;
}

const ActorLink = ({ name }: { name: string }) => (
  <a href={activityHref({ actor: name, since: 'all' })}>
    <bdi>{name}</bdi>
  </a>
);

function Target({ of: { apiGroup, resource, subresource, namespace, name }, user, kinds, isAtObject }: TargetProps) {
  const kind = kinds.find((one) => one.group === apiGroup && one.resource === resource && one.isPreferred);
  // A namespace is an object within itself.
  const place = isAtObject || (apiGroup === '' && resource === 'namespaces') ? undefined : namespace;
  const isUnknown = subresource !== undefined && kind === undefined;
  if (name === undefined) return inNamespace(kind?.title ?? resource, place);
  const shown = <bdi>{user ?? name}</bdi>;
  const object = (
    <>
      {kind?.kind ?? (isUnknown ? `${resource}/${subresource}` : resource)}{' '}
      {kind === undefined || isAtObject ? shown : <a href={href(pageOfObject(kind, name, namespace))}>{shown}</a>}
    </>
  );
  return inNamespace(object, place);
}

/** Returns the history of an object. The page of an access request has its reason and its approvers, and leads to its events. */
const pageOfObject = (kind: Kind, name: string, namespace: string | undefined): string =>
  kindId(kind) === 'accessrequests.auth.platform.io'
    ? `/requests/${encodeURIComponent(name)}`
    : pageOf(kind, { name, ...(kind.isNamespaced && { namespace }) }, 'history');

interface TargetProps extends Required<Pick<SentenceProps, 'kinds' | 'isAtObject'>> {
  of: AuditEvent['objectRef'];
  user: AuditEvent['objectUser'];
}

const inNamespace = (what: ComponentChildren, namespace: string | undefined): ComponentChildren =>
  namespace === undefined ? what : textWith('activity.in', { what, namespace: <bdi>{namespace}</bdi> });

/** Sentences about events, such as "ada@example.com scaled Deployment storefront in shop from 2 to 5". */
import { type ComponentChildren, Fragment } from 'preact';
import { type Kind, kindId, pageOf } from '../../api/kinds';
import { agentName } from '../../app/agent-name';
import { href } from '../../app/router';
import { dateTime, type Key, t } from '../../text/text';
import { shellCommand } from '../cluster/kubectl';
import { type AuditEvent, actionOf, hadEffect, isShell, serviceActionOf, toldAction } from './actions';

/** Begin and end of a place in a text. No text of a language has these characters. */
const [open, close] = ['\u{E000}', '\u{E001}'];

/** Returns a text with elements at its places. Names of users and objects never become a part of the text: they break no line. */
function textWith(key: Key, elements: Readonly<Record<string, ComponentChildren>>): ComponentChildren {
  const places = Object.fromEntries(Object.keys(elements).map((name) => [name, `${open}${name}${close}`]));
  return t(key, places)
    .split(new RegExp(`${open}(\\w+)${close}`, 'u'))
    .map((part, index) => <Fragment key={index}>{index % 2 === 0 ? part : elements[part]}</Fragment>);
}

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
  if (told !== undefined) return textWith(`activity.service.${told}`, { who, what, ...wordsOf(event) });
  const done = toldAction(event);
  if (done === 'grant' && event.grant) {
    const { subjects } = event.grant;
    return textWith('activity.grant', {
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
  if (action === 'exec' && event.connection?.command) return ranCommand(event, { who, what });
  if (!hadEffect(event)) return textWith(`activity.tried.${action}`, { who, what });
  if (action !== 'scale') return textWith(`activity.${action}`, { who, what });
  const { from, to } = changes.find(({ field }) => field === 'spec.replicas') ?? {};
  if (to === undefined) return textWith('activity.change', { who, what });
  return from === undefined ? textWith('activity.scaleTo', { who, what, to }) : textWith('activity.scale', { who, what, from, to });
}

/** Longest command in a sentence. The whole one is its title. */
const maxCommandLength = 160;

/** Returns "ran `df -h` in", or "opened a shell in" for the begin of a terminal with nothing but a shell. */
function ranCommand(event: AuditEvent, parts: { who: ComponentChildren; what: ComponentChildren }): ComponentChildren {
  const { connection: { command = [] } = {}, stage } = event;
  if (hadEffect(event) && stage !== 'ResponseComplete' && isShell(event)) return textWith('activity.shell', parts);
  const line = shellCommand(command);
  const shown = line.length > maxCommandLength ? `${line.slice(0, maxCommandLength)}…` : line;
  const words = <code title={line}>{shown}</code>;
  return textWith(hadEffect(event) ? 'activity.execOf' : 'activity.tried.execOf', { ...parts, command: words });
}

/** Returns what the sentences about actions of the service name beside the user and the object. */
function wordsOf({ access, agent, binding = '', event, objectRef }: AuditEvent): Readonly<Record<string, ComponentChildren>> {
  const { requester, role } = access ?? {};
  return {
    binding: <bdi>{nameIn(binding)}</bdi>,
    requester: <bdi>{requester}</bdi>,
    role: event === 'AccessGranted' && access ? <Granted of={access} /> : <bdi>{role}</bdi>,
    agent: <bdi>{agent && agentName(agent)}</bdi>,
    tool: <code>{agent?.tool}</code>,
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
  <a href={href(`/activity?${new URLSearchParams({ actor: name, since: 'all' })}`)}>
    <bdi>{name}</bdi>
  </a>
);

function Target({ of: { apiGroup, resource, subresource, namespace, name }, user, kinds, isAtObject }: TargetProps) {
  const kind = kinds.find((one) => one.group === apiGroup && one.resource === resource && one.isPreferred);
  const isUnknown = subresource !== undefined && kind === undefined;
  if (name === undefined) return inNamespace(kind?.title ?? resource, isAtObject ? undefined : namespace);
  const shown = <bdi>{user ?? name}</bdi>;
  const object = (
    <>
      {kind?.kind ?? (isUnknown ? `${resource}/${subresource}` : resource)}{' '}
      {kind === undefined || isAtObject ? shown : <a href={href(pageOfObject(kind, name, namespace))}>{shown}</a>}
    </>
  );
  return inNamespace(object, isAtObject ? undefined : namespace);
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

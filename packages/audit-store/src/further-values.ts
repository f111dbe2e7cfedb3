/**
 * Values by which events are searched, and that have no column: they are in the index, and in the rest of a row. An event is read before it
 * is shown, so that a value that shares a key with another one finds nothing.
 */
import type { AuditFilter } from './store.ts';
import { type Rest, restOf, restored, stored, type Tables } from './tables.ts';

/** Columns that a reader of these values needs. */
export const furtherColumns = ['actor', 'requester', 'event', 'verb', 'api_group', 'resource', 'namespace', 'name', 'rest'] as const;

type Row = Pick<Tables['events'], (typeof furtherColumns)[number]>;

/** Bound of the words of an event, so that a long command makes no large index. */
const maxWords = 128;
const word = /[\p{L}\p{M}\p{N}]+/gu;

/** Returns the words of a text in lower case: letters and digits. Other characters separate them. */
export const wordsOf = (text: string): string[] => [...new Set(text.toLowerCase().match(word) ?? [])];

/** Returns a value with its name, for the index. */
export const named = (name: string, value: string): string => `${name}\0${value}`;

/** Returns the part of a name that tells more than the domain, which most users share. */
function personalPart(name: string): string {
  const part = name.slice(0, Math.max(0, name.lastIndexOf('@')));
  return wordsOf(part).length > 0 ? part : name;
}

/** Returns the values that a filter asks for. An event has all of them. Users are found by the words of their names, and compared then. */
export function furtherValuesOf(filter: AuditFilter): string[] {
  const { accessToken, action, actorGroup, subresource, text = '', involvedUser = '', involvedRecord = '' } = filter;
  return [
    ...(action === undefined ? [] : [named('action', action)]),
    ...(accessToken === undefined ? [] : [named('access_token', accessToken)]),
    ...(actorGroup === undefined ? [] : [named('actor_group', actorGroup)]),
    ...(subresource === undefined ? [] : [named('subresource', subresource)]),
    ...wordsOf(`${text} ${personalPart(involvedUser)} ${involvedRecord}`).map((one) => named('word', one)),
  ];
}

/** Returns the values of an event. The words are those of texts that each user who sees the event sees. */
export function furtherValuesIn({ actor, requester, event, verb, resource, namespace, name, rest }: Row): string[] {
  const { accessToken, action, grant, groups = [], subresource, ...others } = restOf(rest);
  const { impersonatedUser, reason, access, members, connection, shell } = others;
  const texts = [
    ...[actor, requester, event, verb, resource, namespace, name].map(restored),
    ...[impersonatedUser?.username, subresource, reason, access?.role, access?.policy, connection?.container],
    ...[shell?.user, shell?.pod],
    ...[action, grant?.role, ...(grant?.subjects ?? [])],
    ...(members?.names ?? []),
    ...(connection?.command ?? []),
  ];
  return [
    ...(action === undefined ? [] : [named('action', action)]),
    ...(accessToken === undefined ? [] : [named('access_token', accessToken)]),
    ...groups.map((group) => named('actor_group', group)),
    ...(subresource === undefined ? [] : [named('subresource', subresource)]),
    ...wordsOf(texts.join(' '))
      .slice(0, maxWords)
      .map((one) => named('word', one)),
  ];
}

/** Reports whether an event has all these values. */
export function hasValues(row: Row, asked: readonly string[]): boolean {
  if (asked.length === 0) return true;
  // Most rows are known not to have a value before they are taken apart.
  const text = furtherColumns
    .map((column) => row[column])
    .join(' ')
    .toLowerCase();
  if (!asked.every((value) => text.includes(inJson(value)))) return false;
  const values = new Set(furtherValuesIn(row));
  return asked.every((value) => values.has(value));
}

/**
 * Returns patterns for `lower(text) like`, of which an event with the words and names of a filter has all. Languages differ in the small
 * forms of I and of the sign for kelvin, and databases in those of letters beyond ASCII, for which there is no pattern.
 */
export const patternsOf = ({ text = '', involvedUser = '', involvedRecord = '' }: AuditFilter): string[] =>
  [...wordsOf(text), involvedUser, involvedRecord]
    .filter((one) => /^[ !#-[\]-~]+$/.test(one))
    .map((one) => `%${one.toLowerCase().replaceAll(/[ik%_]/g, '_')}%`);

/** Returns a value without its name, as a text in JSON in lower case has it. */
const inJson = (value: string): string =>
  JSON.stringify(value.slice(value.indexOf('\0') + 1))
    .slice(1, -1)
    .toLowerCase();

const users = { group: 'auth.platform.io', resource: 'users' };

/** Reports whether an event is about the user and the record that a filter asks for. */
export function involves(row: Row, { involvedUser, involvedRecord }: AuditFilter): boolean {
  if (involvedUser === undefined && involvedRecord === undefined) return true;
  const rest = restOf(row.rest);
  return (
    (involvedUser === undefined || hasUser(row, rest, involvedUser)) &&
    (involvedRecord === undefined || hasRecord(row, rest, involvedRecord))
  );
}

const isOfUsers = ({ api_group: group, resource }: Row): boolean => group === users.group && resource === users.resource;

const isGranted = ({ grant }: Rest, name: string): boolean => grant?.subjects.includes(`User/${name}`) === true;

/** Reports whether a user did it, it was done for or as the user, or it names the user. A record has another name than its user. */
function hasUser(row: Row, rest: Rest, user: string): boolean {
  const name = stored(user);
  if (row.actor === name || row.requester === name || isGranted(rest, user)) return true;
  const isViewed = row.verb === 'impersonate' && isOfUsers(row) && row.name === name;
  return isViewed || rest.impersonatedUser?.username === user || rest.shell?.user === user;
}

/** Reports whether a record is the object, a new or former member of a group, or a subject of a binding. */
const hasRecord = (row: Row, rest: Rest, record: string): boolean =>
  (isOfUsers(row) && row.name === stored(record)) || rest.members?.names.includes(record) === true || isGranted(rest, record);

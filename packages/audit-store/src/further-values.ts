/**
 * Values by which events are searched, and that have no column: they are in the index, and in the rest of a row. An event is read before it
 * is shown, so that a value that shares a key with another one finds nothing.
 */
import type { Kysely } from 'kysely';
import type { AuditFilter } from './store.ts';
import { restOf, restored, type Tables } from './tables.ts';

/** Columns that a reader of these values needs. */
const furtherColumns = ['actor', 'requester', 'event', 'verb', 'resource', 'namespace', 'name', 'rest'] as const;

type Row = Pick<Tables['events'], (typeof furtherColumns)[number]>;

/** Bound of the words of an event, so that a long command makes no large index. */
const maxWords = 64;
const word = /[\p{L}\p{M}\p{N}]+/gu;

/** Returns the words of a text in lower case: letters and digits. Other characters separate them. */
export const wordsOf = (text: string): string[] => [...new Set(text.toLowerCase().match(word) ?? [])];

/** Returns a value with its name, for the index. */
export const named = (name: string, value: string): string => `${name}\0${value}`;

/** Returns the values that a filter asks for. An event has all of them. */
export const furtherValuesOf = ({ accessToken, action, actorGroup, subresource, text = '' }: AuditFilter): string[] => [
  ...(action === undefined ? [] : [named('action', action)]),
  ...(accessToken === undefined ? [] : [named('access_token', accessToken)]),
  ...(actorGroup === undefined ? [] : [named('actor_group', actorGroup)]),
  ...(subresource === undefined ? [] : [named('subresource', subresource)]),
  ...wordsOf(text).map((one) => named('word', one)),
];

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

/** Returns a value without its name, as a text in JSON in lower case has it. */
const inJson = (value: string): string =>
  JSON.stringify(value.slice(value.indexOf('\0') + 1))
    .slice(1, -1)
    .toLowerCase();

/** Returns those of the events that have all values without a column that a filter asks for. */
export async function withFurtherValues(db: Kysely<Tables>, filter: AuditFilter, sequences: number[]): Promise<number[]> {
  const asked = furtherValuesOf(filter);
  if (asked.length === 0 || sequences.length === 0) return sequences;
  const rows = await db
    .selectFrom('events')
    .select(['sequence', ...furtherColumns])
    .where('sequence', 'in', sequences)
    .execute();
  return rows.filter((row) => hasValues(row, asked)).map(({ sequence }) => sequence);
}

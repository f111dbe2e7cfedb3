/** Reads the figures of the overview with bounded requests: no list is read to its end. */
import { api, bodyOf } from '../../api/client';
import { apiPath, type Kind } from '../../api/kinds';
import { tableAccept } from '../../api/list-path';
import { asTable, getJson, metadataOnly, type ServerTable } from '../../api/objects';
import { t } from '../../text/text';
import { groupsOf } from '../cluster/events/event-groups';
import type { EventList } from '../cluster/events/events';

const readRows = 500;

export interface Figure {
  count: number;
  /** Number of objects that were examined. */
  of?: number;
  /** More objects exist than were read. */
  isPart: boolean;
}

interface Table {
  rows: readonly { metadata: { name: string; namespace?: string }; cell: (column: string) => string }[];
  isPart: boolean;
}

/** @throws Error if the API server prints no Table of the kind */
async function readTable(kind: Kind, namespace: string, signal: AbortSignal): Promise<Table> {
  const path = `${apiPath(kind, { namespace })}?${new URLSearchParams({ limit: String(readRows) })}`;
  const table = asTable(await getJson<ServerTable>(path, signal, tableAccept));
  if (table === undefined) throw new Error(t('cluster.noList'));
  const names = (table.columnDefinitions ?? []).map(({ name }) => name);
  const rows = (table.rows ?? []).map(({ cells, object: { metadata } }) => ({
    metadata,
    cell: (column: string) => String(cells[names.indexOf(column)] ?? ''),
  }));
  return { rows, isPart: Boolean(table.metadata.continue) };
}

export async function readyNodes(kind: Kind, signal: AbortSignal): Promise<Figure> {
  const { rows, isPart } = await readTable(kind, '', signal);
  const ready = rows.filter(({ cell }) => cell('Status').split(',')[0] === 'Ready');
  return { count: ready.length, of: rows.length, isPart };
}

/** Counts by the first object and the number of those that remain. */
export async function countObjects(kind: Kind, signal: AbortSignal): Promise<Figure> {
  const { items, metadata } = await getJson<{ items: unknown[]; metadata: { continue?: string; remainingItemCount?: number } }>(
    `${apiPath(kind)}?limit=1`,
    signal,
    metadataOnly,
  );
  const { remainingItemCount } = metadata;
  return { count: items.length + (remainingItemCount ?? 0), isPart: Boolean(metadata.continue) && remainingItemCount === undefined };
}

/** Counts the rows that the page of events shows for the type. */
export async function warningGroups(kind: Kind, signal: AbortSignal): Promise<Figure> {
  const query = new URLSearchParams({ fieldSelector: 'type=Warning', limit: String(readRows) });
  const { items, metadata } = await getJson<EventList>(`${apiPath(kind)}?${query}`, signal);
  return { count: groupsOf(items).length, isPart: Boolean(metadata.continue) };
}

/** A page after the last one has the number of all rows, and no row. */
const countOnly = { limit: 1, page: 1_000_000 };

export async function failedBindings(signal: AbortSignal): Promise<Figure> {
  const query = { filterBy: ['phase,Failed'], ...countOnly };
  const { total } = await bodyOf(api.GET('/auth/v2/userbindings', { params: { query }, signal }));
  return { count: total, isPart: false };
}

export const lockedUsers = (signal: AbortSignal): Promise<Figure> => usersIn('Locked', signal);

export async function usersIn(phase: string, signal: AbortSignal): Promise<Figure> {
  const query = { filterBy: [`phase,${phase}`], ...countOnly };
  const { total } = await bodyOf(api.GET('/auth/v2/users', { params: { query }, signal }));
  return { count: total, isPart: false };
}

export interface NotReady {
  kind: Kind;
  name: string;
  namespace: string;
  /** The ready column of kubectl: `1/2`. */
  ready: string;
  /** The rollout has not replaced all replicas. */
  isRollingOut: boolean;
}

/** Workloads that are not ready, of the number that was read. */
export interface ReadWorkloads {
  rows: NotReady[];
  count: number;
  isPart: boolean;
}

/** Returns the workloads of a kind that have fewer ready or updated replicas than desired. */
export async function notReady(kind: Kind, namespace: string, signal: AbortSignal): Promise<ReadWorkloads> {
  const { rows, isPart } = await readTable(kind, namespace, signal);
  const found = rows.flatMap(({ metadata, cell }): NotReady[] => {
    // A DaemonSet has numbers in two columns where the others have `1/2` in one.
    const ready = cell('Desired') === '' ? cell('Ready') : `${cell('Ready')}/${cell('Desired')}`;
    const [isReady = 0, wanted = 0] = ready.split('/').map(Number);
    const updated = cell('Up-to-date');
    const isRollingOut = updated !== '' && Number(updated) < wanted;
    if (isReady >= wanted && !isRollingOut) return [];
    return [{ kind, name: metadata.name, namespace: metadata.namespace ?? namespace, ready, isRollingOut }];
  });
  return { rows: found, count: rows.length, isPart };
}

/** Objects of the cluster as their API server gives them. */
import { call } from './client';
import { jsonOf, stringifyJson } from './json';
import { listPath, type Selection } from './list-path';
import type { Metadata } from './object-types.ts';

export type { ClusterObject, Metadata } from './object-types.ts';

export interface TableColumn {
  name: string;
  type: string;
  format: string;
  priority: number;
  description: string;
}

export interface TableRow {
  cells: unknown[];
  /** Whole, if it was asked for. */
  object: { metadata: Metadata; [member: string]: unknown };
}

export interface ServerTable {
  metadata: { resourceVersion: string; continue?: string; remainingItemCount?: number };
  /** Not in later pages, nor in most events of a watch. */
  columnDefinitions: TableColumn[] | null;
  rows: TableRow[] | null;
}

/** Asks for a list without specs and statuses. Aggregated APIs may send whole objects. */
export const metadataOnly = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1, application/json';

/** Tells an object from all others of its kind. */
export const keyOf = ({ uid, namespace = '', name }: Pick<Metadata, 'uid' | 'namespace' | 'name'>): string => uid || `${namespace}/${name}`;

/** Plain list, or an object of it in a watch. */
interface PlainAnswer {
  kind?: string;
  metadata: Partial<Metadata> & ServerTable['metadata'];
  items?: readonly { metadata: Metadata }[] | null;
}

const plainColumns: TableColumn[] = [
  { name: 'Name', type: 'string', format: 'name', priority: 0, description: '' },
  { name: 'Age', type: 'date', format: '', priority: 0, description: '' },
];

const plainRow = ({ metadata }: { metadata: Metadata }): TableRow => ({
  cells: [metadata.name, metadata.creationTimestamp],
  object: { metadata },
});

/** Converts an answer to a Table, in whichever form the API sent it. Undefined for one that is neither a Table, a list nor an object. */
export function asTable(answer: ServerTable | PlainAnswer): ServerTable | undefined {
  if ('kind' in answer && answer.kind === 'Table') return answer as ServerTable;
  const { metadata, items } = answer as PlainAnswer;
  if (items !== undefined) return { metadata, columnDefinitions: plainColumns, rows: (items ?? []).map(plainRow) };
  return metadata?.name === undefined
    ? undefined
    : { metadata, columnDefinitions: null, rows: [plainRow({ metadata: metadata as Metadata })] };
}

export async function getJson<T>(path: string, signal?: AbortSignal, Accept = 'application/json'): Promise<T> {
  const response = await call(path, { headers: { Accept }, ...(signal && { signal }) });
  return (await jsonOf(response)) as T;
}

interface ObjectList<T> {
  items: readonly T[];
  /** `continue` is set if the list has more objects than were read. */
  metadata: ServerTable['metadata'];
}

/** Parts of a list that are read: more would take megabytes. */
export const mostParts = 10;

/** Reads a list to its end, or its first parts. */
export async function getList<T>(path: string, selection: Selection, signal: AbortSignal): Promise<ObjectList<T>> {
  const found: T[] = [];
  for (let [part, from] = [1, '']; ; part += 1) {
    const { items, metadata } = await getJson<{ items: T[] | null } & ObjectList<T>>(listPath(path, selection, from), signal);
    found.push(...(items ?? []));
    from = metadata.continue ?? '';
    if (from === '' || part === mostParts) return { items: found, metadata };
  }
}

/** @param uid of the object that was seen: another object of the same name is not deleted */
export const deleteOptions = (uid: string | undefined, propagationPolicy: string): object => ({
  ...{ apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy },
  ...(uid && { preconditions: { uid } }),
});

interface Write {
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  body: unknown;
  contentType?: string;
  signal?: AbortSignal;
}

export async function write<T>(path: string, { method, body, contentType = 'application/json', signal }: Write): Promise<T> {
  const response = await call(path, {
    method,
    headers: { Accept: 'application/json', 'Content-Type': contentType },
    body: stringifyJson(body),
    ...(signal && { signal }),
  });
  return (await jsonOf(response)) as T;
}

/** Objects of the cluster as their API server gives them. */
import { call } from './client';
import { jsonOf, stringifyJson } from './json';

export interface Metadata {
  name: string;
  namespace?: string;
  uid: string;
  resourceVersion: string;
  creationTimestamp: string;
  deletionTimestamp?: string;
  generation?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  managedFields?: unknown[];
  ownerReferences?: { apiVersion: string; kind: string; name: string; uid: string; controller?: boolean }[];
}

export interface ClusterObject {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
  [member: string]: unknown;
}

export interface TableColumn {
  name: string;
  type: string;
  format: string;
  priority: number;
  description: string;
}

export interface TableRow {
  cells: unknown[];
  object: { metadata: Metadata };
}

export interface ServerTable {
  metadata: { resourceVersion: string; continue?: string; remainingItemCount?: number };
  /** Not in later pages, nor in most events of a watch. */
  columnDefinitions: TableColumn[] | null;
  rows: TableRow[] | null;
}

export const tableAccept = 'application/json;as=Table;g=meta.k8s.io;v=v1';

export async function getJson<T>(path: string, signal?: AbortSignal, Accept = 'application/json'): Promise<T> {
  const response = await call(path, { headers: { Accept }, ...(signal && { signal }) });
  return (await jsonOf(response)) as T;
}

interface Write {
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  body: unknown;
  contentType?: string;
}

export async function write<T>(path: string, { method, body, contentType = 'application/json' }: Write): Promise<T> {
  const response = await call(path, {
    method,
    headers: { Accept: 'application/json', 'Content-Type': contentType },
    body: stringifyJson(body),
  });
  return (await jsonOf(response)) as T;
}

import type { ListProperties, ListRow } from '../collection/properties.ts';
import type { KubernetesObject } from '../kubernetes/resource.ts';

/** What is kept of a namespace: what lists select and sort by, and the JSON text that is served. */
export interface NamespaceRow extends ListRow {
  /** Unix time. */
  readonly creationSeconds: number;
}

/** Called once per change of a namespace. No more of it is shown than its users have to know: no annotations, no uid. */
export function namespaceRow({ metadata }: KubernetesObject): NamespaceRow {
  const { name, labels = {}, creationTimestamp, deletionTimestamp } = metadata;
  const served = { name, labels, creationTimestamp, ...(deletionTimestamp !== undefined && { deletionTimestamp }) };
  return {
    name,
    labels,
    text: JSON.stringify({ metadata: served }),
    creationSeconds: Math.floor(Date.parse(creationTimestamp) / 1000),
  };
}

export const namespaceProperties: ListProperties<NamespaceRow> = {
  searched: new Map([['name', ({ name }) => name]]),
  search: ['name'],
  compared: new Map(),
  sorted: new Map<string, (row: NamespaceRow) => string | number>([
    ['name', ({ name }) => name],
    ['creationTimestamp', ({ creationSeconds }) => creationSeconds],
  ]),
  selectable: new Map([['metadata.name', ({ name }) => name]]),
  defaultSort: 'a,name',
};

import type { ListProperties, ListRow } from '../collection/properties.ts';
import type { KubernetesObject } from '../kubernetes/resource.ts';

/** The cached part of a namespace: properties for lists, and the JSON text for answers. */
export interface NamespaceRow extends ListRow {
  /** Unix time. */
  readonly creationSeconds: number;
}

/** Returns the row of a namespace. Called once for each change. Omits the uid and annotations, which its users need not know. */
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

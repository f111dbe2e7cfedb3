import type { ListProperties } from '../collection/properties.ts';
import type { GroupRow } from './row.ts';

/** Properties that select, filter and sort groups. */
export const groupProperties: ListProperties<GroupRow> = {
  searched: new Map<string, (row: GroupRow) => string | readonly string[]>([
    ['name', (row) => row.name],
    ['displayName', (row) => row.lowerDisplayName],
    ['description', (row) => row.lowerDescription],
  ]),
  search: ['name', 'displayName', 'description'],
  compared: new Map<string, (row: GroupRow) => string>([
    ['source', (row) => row.source],
    ['local', (row) => String(row.isLocal)],
  ]),
  sorted: new Map<string, (row: GroupRow) => string | number | undefined>([
    ['name', (row) => row.name],
    ['displayName', (row) => row.lowerDisplayName || undefined],
    ['source', (row) => row.source || undefined],
    ['memberCount', (row) => row.memberCount],
    ['creationTimestamp', (row) => row.creationSeconds],
  ]),
  selectable: new Map<string, (row: GroupRow) => string>([['metadata.name', (row) => row.name]]),
  defaultSort: 'a,name',
};

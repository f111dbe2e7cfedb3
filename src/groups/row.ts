import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import type { ListProperties } from '@atrium/lists/properties.ts';
import { folded } from '@atrium/objects/folded.ts';
import { type StandardRow, standardRow } from '../collection/standard-row.ts';
import { groupKind, membersOf, readGroup } from './schema.ts';

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

/** The cached part of a Group: properties for lists, its members, and the JSON text for answers. */
export interface GroupRow extends StandardRow {
  readonly generation: number | undefined;
  readonly displayName: string;
  readonly lowerDisplayName: string;
  readonly lowerDescription: string;
  /** Id of the connector that a group of an issuer comes from; '' for a local one. */
  readonly source: string;
  /** True if the service stores the members, false if an issuer manages them. */
  readonly isLocal: boolean;
  /** Names of the User records in a local group, in the order of the object; empty if the issuer manages the members. */
  readonly members: readonly string[];
  /** `status.memberCount`, which may be wrong. */
  readonly memberCount: number | undefined;
}

/** Returns the row of a Group. Called once for each change. */
export function groupRow(object: KubernetesObject): GroupRow {
  const { spec = {}, status = {} } = readGroup(object);
  const { displayName = '', description = '', refConnector } = spec;
  const isLocal = refConnector === undefined;
  return {
    ...standardRow(groupKind, object),
    generation: object.metadata.generation,
    displayName,
    lowerDisplayName: folded(displayName),
    lowerDescription: folded(description),
    source: refConnector?.id ?? '',
    isLocal,
    members: isLocal ? membersOf(object).map(({ name }) => name) : [],
    memberCount: status.memberCount,
  };
}

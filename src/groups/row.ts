import { folded } from '@atrium/objects/folded.ts';
import { partsOf } from '@atrium/objects/reader.ts';
import type { ListProperties } from '../collection/properties.ts';
import type { KubernetesObject } from '../kubernetes/resource.ts';
import { groupApiVersion } from '../users/record/local-groups.ts';
import { membersOf, readGroup } from './schema.ts';

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
export interface GroupRow {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly text: string;
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
  /** Unix time. */
  readonly creationSeconds: number;
}

/** Returns the object for answers, without `metadata.managedFields`. */
export function servedGroup(object: KubernetesObject) {
  const { managedFields: _managedFields, ...served } = object.metadata;
  const { status } = partsOf(object);
  return { apiVersion: groupApiVersion, kind: 'Group', metadata: served, spec: object.spec ?? {}, ...(status && { status }) };
}

/** Returns the row of a Group. Called once for each change. */
export function groupRow(object: KubernetesObject): GroupRow {
  const { metadata } = object;
  const { spec = {}, status = {} } = readGroup(object);
  const { displayName = '', description = '', refConnector } = spec;
  const isLocal = refConnector === undefined;
  return {
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    generation: metadata.generation,
    labels: metadata.labels ?? {},
    text: JSON.stringify(servedGroup(object)),
    displayName,
    lowerDisplayName: folded(displayName),
    lowerDescription: folded(description),
    source: refConnector?.id ?? '',
    isLocal,
    members: isLocal ? membersOf(object).map(({ name }) => name) : [],
    memberCount: status.memberCount,
    creationSeconds: Math.floor(Date.parse(metadata.creationTimestamp) / 1000),
  };
}

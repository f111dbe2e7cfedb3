import { isRecord, type KubernetesObject } from '../kubernetes/resource.ts';
import { groupApiVersion } from '../users/record/local-groups.ts';
import { isLocalGroup, membersOf } from './group-records.ts';

/** What is kept of a Group: what lists select, filter and sort by, who is in it, and the JSON text that is served. */
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
  /** Whether the members are kept here. */
  readonly isLocal: boolean;
  /** Names of the User records in a local group, in the order of the object; none where the issuer knows them. */
  readonly members: readonly string[];
  /** `status.memberCount`, whether or not it is right. */
  readonly memberCount: number | undefined;
  /** Unix time. */
  readonly creationSeconds: number;
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const number = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

/** The object as it is answered: without `metadata.managedFields`. */
export function servedGroup({ metadata, spec, status }: KubernetesObject) {
  const { managedFields: _managedFields, ...served } = metadata;
  return { apiVersion: groupApiVersion, kind: 'Group', metadata: served, spec: spec ?? {}, ...(isRecord(status) && { status }) };
}

/** Called once per change of a Group. */
export function groupRow(object: KubernetesObject): GroupRow {
  const { metadata } = object;
  const spec = isRecord(object.spec) ? object.spec : {};
  const status = isRecord(object.status) ? object.status : {};
  const isLocal = isLocalGroup(object);
  return {
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    generation: number(metadata.generation),
    labels: metadata.labels ?? {},
    text: JSON.stringify(servedGroup(object)),
    displayName: text(spec.displayName),
    lowerDisplayName: text(spec.displayName).toLowerCase(),
    lowerDescription: text(spec.description).toLowerCase(),
    source: isRecord(spec.refConnector) ? text(spec.refConnector.id) : '',
    isLocal,
    members: isLocal ? membersOf(object).map(({ name }) => name) : [],
    memberCount: number(status.memberCount),
    creationSeconds: Math.floor(Date.parse(metadata.creationTimestamp) / 1000),
  };
}

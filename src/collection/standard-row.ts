import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import type { ResourceKind } from '@atrium/kubernetes/resource-client.ts';
import type { ListRow } from '@atrium/lists/properties.ts';
import { localCluster } from '@atrium/objects/object-schemas.ts';
import { partsOf } from '@atrium/objects/reader.ts';

/** Row of an object with the standard operations. */
export interface StandardRow extends ListRow {
  readonly uid: string;
  readonly resourceVersion: string;
  /** Unix time. Undefined if the time of the object cannot be read. */
  readonly creationSeconds: number | undefined;
}

/** Returns the object for answers, without `metadata.managedFields`. @param added members of `spec` that no stored object has */
export function servedObject({ type: { group, version }, kind }: ResourceKind, object: KubernetesObject, added = {}) {
  const { managedFields: _managedFields, ...metadata } = object.metadata;
  const { spec, status } = partsOf(object);
  return { apiVersion: `${group}/${version}`, kind, metadata, spec: { ...added, ...spec }, ...(status && { status }) };
}

/** Member of `spec` that stored objects do not have. */
export const inLocalCluster = { cluster: localCluster };

/**
 * Returns the members of a row that do not depend on the resource. Called once for each change.
 *
 * @param added members of `spec` in answers that no stored object has
 */
export function standardRow(kind: ResourceKind, object: KubernetesObject, added = {}): StandardRow {
  const { name, uid, resourceVersion, labels = {}, creationTimestamp } = object.metadata;
  const seconds = Date.parse(creationTimestamp) / 1000;
  const creationSeconds = Number.isNaN(seconds) ? undefined : Math.floor(seconds);
  return { name, uid, resourceVersion, labels, text: JSON.stringify(servedObject(kind, object, added)), creationSeconds };
}

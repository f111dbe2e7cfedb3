/** The history of StatefulSets and DaemonSets: a ControllerRevision for each template, as kube-controller-manager makes them. */

import { isDeepStrictEqual } from 'node:util';
import { type Component, ownerReference } from '../component.ts';
import { type ControllerRevision, collections, type DaemonSet, type Pod, type StatefulSet } from './shapes.ts';
import { templateHash } from './template-hash.ts';

const hashLabel = 'controller-revision-hash';

/** Returns the label by which the pods of a revision are known: of a StatefulSet its name, of a DaemonSet the hash alone. */
export const labelOf = ({ kind, metadata: { name } }: StatefulSet | DaemonSet, revision: string): Record<string, string> => ({
  [hashLabel]: kind === 'StatefulSet' ? revision : revision.slice(name.length + 1),
});

export const isOfRevision = (label: Record<string, string>) => (pod: Pod) => pod.metadata.labels?.[hashLabel] === label[hashLabel];

/** Returns the name of the revision of the present template, which becomes the newest, and drops the oldest beyond the limit. */
export function currentRevision(component: Component, set: StatefulSet | DaemonSet): string {
  const history = component.owned<ControllerRevision>(collections.revisions, set).sort((a, b) => a.revision - b.revision);
  const data = { spec: { template: { ...set.spec.template, $patch: 'replace' } } };
  const found = history.find((one) => isDeepStrictEqual(one.data, data));
  const newest = history.at(-1)?.revision ?? 0;
  const current = found ?? create(component, set, data, newest + 1);
  if (found !== undefined && found.revision < newest) component.update(collections.revisions, { ...found, revision: newest + 1 });
  const old = history.filter(({ metadata }) => metadata.uid !== current.metadata.uid);
  dropHistory(component, set, old);
  return current.metadata.name;
}

function create(component: Component, set: StatefulSet | DaemonSet, data: ControllerRevision['data'], revision: number) {
  const { name, namespace, annotations } = set.metadata;
  const id = templateHash([set.kind, data]);
  const label = set.kind === 'StatefulSet' ? 'controller.kubernetes.io/hash' : hashLabel;
  const labels = { ...set.spec.template.metadata?.labels, [label]: id };
  const metadata = { name: `${name}-${id}`, labels, ownerReferences: [ownerReference(set)], ...(annotations && { annotations }) };
  return component.create<ControllerRevision>(collections.revisions, { metadata, data: structuredClone(data), revision }, namespace);
}

/** A revision that has pods stays. */
function dropHistory(component: Component, set: StatefulSet | DaemonSet, old: readonly ControllerRevision[]): void {
  const pods = component.owned<Pod>(collections.pods, set);
  const unused = old.filter(({ metadata }) => !pods.some(isOfRevision(labelOf(set, metadata.name))));
  for (const one of unused.slice(0, Math.max(0, unused.length - set.spec.revisionHistoryLimit)))
    component.remove(collections.revisions, one);
}

/** Revisions of workloads, as `kubectl rollout history` and `undo` know them: ReplicaSets of a Deployment, else ControllerRevisions. */

import type { ClusterObject, Metadata } from '../../../../api/object-types.ts';

const revisionKey = 'deployment.kubernetes.io/revision';
const causeKey = 'kubernetes.io/change-cause';
const hashLabel = 'pod-template-hash';

interface Template {
  $patch?: string;
  metadata?: { labels?: Record<string, string>; [member: string]: unknown };
  spec?: { containers?: { image?: string }[] };
}

export interface Revision {
  /** The name of the ReplicaSet or ControllerRevision. */
  name: string;
  number: number;
  isCurrent: boolean;
  images: string[];
  cause: string;
  /** Unset for a ControllerRevision, which has no count. */
  pods?: number;
  createdAt: string;
  /** The template without the parts that the controller adds. */
  template: Template;
  /** The annotations that a rollback puts back. Unset for a ControllerRevision: kubectl leaves those of its workload as they are. */
  annotations?: Record<string, string>;
}

/** Returns the kind that holds the revisions of a workload. */
export const revisionKindOf = ({ kind }: ClusterObject) => (kind === 'Deployment' ? 'ReplicaSet' : 'ControllerRevision');

/** Returns the revisions of a workload among ReplicaSets or ControllerRevisions, the newest first. */
export function revisionsOf(workload: ClusterObject, held: readonly ClusterObject[]): Revision[] {
  const owned = held.filter(({ metadata }) =>
    metadata.ownerReferences?.some(({ uid, controller }) => controller === true && uid === workload.metadata.uid),
  );
  const read = revisionKindOf(workload) === 'ReplicaSet' ? fromSet : fromRevision;
  const revisions = owned.map(read).sort((a, b) => b.number - a.number);
  const current = currentOf(workload, revisions);
  return revisions.map((revision) => ({ ...revision, isCurrent: revision.name === current }));
}

/** A DaemonSet names no revision: its controller gives the current one the highest number. */
function currentOf({ kind, metadata, status }: ClusterObject, [newest, ...older]: readonly Omit<Revision, 'isCurrent'>[]): unknown {
  if (kind === 'StatefulSet') return status?.updateRevision;
  if (kind !== 'Deployment' || newest === undefined) return newest?.name;
  return [newest, ...older].find(({ number }) => String(number) === metadata.annotations?.[revisionKey])?.name;
}

function fromSet({ metadata, spec = {}, status = {} }: ClusterObject): Omit<Revision, 'isCurrent'> {
  const template = withoutHash(spec.template as Template);
  const number = Number(metadata.annotations?.[revisionKey] ?? 0);
  const pods = typeof status.replicas === 'number' ? status.replicas : 0;
  return { ...revisionOf(metadata, template), number, pods, annotations: metadata.annotations ?? {} };
}

function fromRevision({ metadata, data, revision }: ClusterObject): Omit<Revision, 'isCurrent'> {
  const { $patch: _patch, ...template } = (data as { spec?: { template?: Template } } | undefined)?.spec?.template ?? {};
  return { ...revisionOf(metadata, template), number: Number(revision) };
}

const revisionOf = ({ name, annotations, creationTimestamp }: Metadata, template: Template) => ({
  ...{ name, template, createdAt: creationTimestamp, cause: annotations?.[causeKey] ?? '' },
  images: (template.spec?.containers ?? []).map(({ image = '' }) => image),
});

function withoutHash(template: Template): Template {
  const { [hashLabel]: _hash, ...labels } = template.metadata?.labels ?? {};
  return { ...template, metadata: { ...template.metadata, labels } };
}

/** Annotations that belong to kubectl and to the controller: a rollback keeps them. Source: `kubectl rollout undo`. */
const keptAnnotations = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  revisionKey,
  ...['revision-history', 'desired-replicas', 'max-replicas'].map((name) => `deployment.kubernetes.io/${name}`),
  'deprecated.deployment.rollback.to',
]);

/** Returns the annotations after a rollback: those of the revision, and those that are kept. Undefined where it changes none. */
export function annotationsAfter({ metadata }: ClusterObject, { annotations }: Revision): Record<string, string> | undefined {
  if (annotations === undefined) return undefined;
  const kept = Object.entries(metadata.annotations ?? {}).filter(([key]) => keptAnnotations.has(key));
  const restored = Object.entries(annotations).filter(([key]) => !keptAnnotations.has(key));
  return Object.fromEntries([...kept, ...restored]);
}

/** Returns the JSON Patch that puts back the template and the annotations of a revision, unless the spec has changed since it was read. */
export function rollbackPatch(workload: ClusterObject, revision: Revision): object[] {
  const annotations = annotationsAfter(workload, revision);
  return [
    // The resource version changes with the status, which a running rollout writes all the time.
    { op: 'test', path: '/metadata/generation', value: workload.metadata.generation },
    { op: 'replace', path: '/spec/template', value: revision.template },
    ...(annotations ? [{ op: 'add', path: '/metadata/annotations', value: annotations }] : []),
  ];
}

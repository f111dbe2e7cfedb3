/** Revisions of a Deployment, as `kubectl rollout history` and `undo` know them. */

import type { ClusterObject } from '../../../api/object-types.ts';

const revisionKey = 'deployment.kubernetes.io/revision';
const causeKey = 'kubernetes.io/change-cause';
const hashLabel = 'pod-template-hash';

interface Template {
  metadata?: { labels?: Record<string, string>; [member: string]: unknown };
  spec?: { containers?: { image?: string }[] };
}

export interface Revision {
  /** The name of the ReplicaSet. */
  name: string;
  number: number;
  isCurrent: boolean;
  images: string[];
  cause: string;
  pods: number;
  createdAt: string;
  /** The template without the label that the controller adds. */
  template: Template;
}

/** Returns the revisions of a Deployment among ReplicaSets, the newest first. */
export function revisionsOf(deployment: ClusterObject, sets: readonly ClusterObject[]): Revision[] {
  const current = deployment.metadata.annotations?.[revisionKey];
  return sets
    .filter(({ metadata }) =>
      metadata.ownerReferences?.some(({ uid, controller }) => controller === true && uid === deployment.metadata.uid),
    )
    .map((set) => revisionOf(set, current))
    .sort((a, b) => b.number - a.number);
}

function revisionOf({ metadata, spec = {}, status = {} }: ClusterObject, current: string | undefined): Revision {
  const { annotations = {}, name, creationTimestamp } = metadata;
  const template = withoutHash(spec.template as Template);
  return {
    ...{ name, template, createdAt: creationTimestamp, number: Number(annotations[revisionKey] ?? 0) },
    isCurrent: annotations[revisionKey] === current,
    images: (template.spec?.containers ?? []).map(({ image = '' }) => image),
    cause: annotations[causeKey] ?? '',
    pods: typeof status.replicas === 'number' ? status.replicas : 0,
  };
}

function withoutHash(template: Template): Template {
  const { [hashLabel]: _hash, ...labels } = template.metadata?.labels ?? {};
  return { ...template, metadata: { ...template.metadata, labels } };
}

/** Returns the JSON Patch that puts back the template of a revision, unless the Deployment has changed since it was read. */
export const rollbackPatch = ({ metadata }: ClusterObject, { template }: Revision): object[] => [
  { op: 'test', path: '/metadata/resourceVersion', value: metadata.resourceVersion },
  { op: 'replace', path: '/spec/template', value: template },
];

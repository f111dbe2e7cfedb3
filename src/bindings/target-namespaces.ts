/** The namespaces in which a UserBinding gives its role. */
import type { KubernetesObject, ResourceType } from '@atrium/kubernetes/resource.ts';
import type { UserBindingRow } from './row.ts';

export const namespaceResource: ResourceType = { group: '', version: 'v1', resource: 'namespaces' };

const projectLabel = 'console.platform.io/project';

export interface NamespaceRow {
  readonly name: string;
  /** '' without a project. */
  readonly project: string;
  /** True while the namespace is deleted, and so accepts no new objects. */
  readonly isEnding: boolean;
}

export const namespaceRow = ({ metadata: { name, labels, deletionTimestamp } }: KubernetesObject): NamespaceRow => ({
  name,
  project: labels?.[projectLabel] ?? '',
  isEnding: deletionTimestamp !== undefined,
});

export interface TargetNamespaces {
  /** Existing target namespaces; '' for the cluster. */
  targets: readonly string[];
  /** Namespaces that the binding names and that do not exist. */
  missing: readonly string[];
}

/** @param inProject the namespaces of a project */
export function targetNamespaces(
  { scope, namespaces, projects }: UserBindingRow,
  get: (name: string) => NamespaceRow | undefined,
  inProject: (project: string) => Iterable<NamespaceRow>,
): TargetNamespaces {
  if (scope === 'platform') return { targets: [''], missing: [] };
  const isThere = (name: string) => get(name)?.isEnding === false;
  const found = scope === 'namespace' ? namespaces : projects.flatMap((project) => Array.from(inProject(project), ({ name }) => name));
  return {
    targets: [...new Set(found.filter(isThere))].sort(),
    missing: scope === 'namespace' ? namespaces.filter((name) => !isThere(name)) : [],
  };
}

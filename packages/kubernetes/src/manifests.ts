/** Manifests of the installation, and the rights that they grant to the service's account. */
import rights from './manifest-rights.json' with { type: 'json' };
import kinds from './shipped-kinds.json' with { type: 'json' };

/** A rule of a role in deploy/manifests (`npm run manifests`). */
export interface ManifestRight {
  /** File in deploy/manifests. */
  readonly file: string;
  readonly where: string;
  readonly verbs: readonly string[];
  readonly group: string;
  readonly resources: readonly string[];
  /** Names of the objects; empty for all. */
  readonly names: readonly string[];
}

export const manifestRights: readonly ManifestRight[] = rights;

/** A kind whose definition the installation has (`npm run manifests`). */
export interface ShippedKind {
  readonly group: string;
  readonly resource: string;
}

export const shippedKinds: readonly ShippedKind[] = kinds;

/** Values of the chart that grant the rights of a file. */
const chartValues: Readonly<Record<string, string>> = {
  'rbac.yaml': 'rbac.create',
  'constrained-impersonation.yaml': 'rbac.impersonation',
  'access-tokens.yaml': 'config.features.accessTokens',
  'user-bindings.yaml': 'config.features.userBindings',
  'access-requests.yaml': 'config.features.accessRequests',
  'workload-lists.yaml': 'config.lists.preset',
  'usage.yaml': 'config.console.metrics.lastHour',
  'certificates.yaml': 'config.users.certificates.enabled',
  'agents.yaml': 'config.features.mcp',
  'audit-store.yaml': 'auditStore.enabled',
};

/** A permission that the API server denied. */
export interface DeniedRight {
  readonly verb: string;
  readonly group: string;
  /** Resource, with its subresource. */
  readonly resource: string;
  /** Name of the object; undefined for a list. */
  readonly name: string | undefined;
  readonly isClusterWide: boolean;
}

const command = (file: string, value: string) => `run kubectl apply -f deploy/manifests/${file}, or set ${value} in the chart`;

/** Returns the command that applies the definitions. */
export const definitionsCommand = 'run kubectl apply --server-side -k deploy/manifests/crds';

/** Returns the command that applies the admission policies, and the value of the chart that does. */
export const admissionPolicyCommand = command('admission-policy.yaml', 'admissionPolicy.install');

/** Returns the command that grants the roles of user bindings, and the value of the chart that does. */
export const userBindingsCommand = command('user-bindings.yaml', 'config.features.userBindings');

/** Returns the command that grants a permission, and the value of the chart that does. */
export function commandGranting(denied: DeniedRight): string {
  if (denied.verb.startsWith('impersonate'))
    return `${command('constrained-impersonation.yaml', 'rbac.impersonation')} (before Kubernetes 1.36 impersonation.yaml)`;
  const candidates = rights.filter(
    ({ group, resources, where }) =>
      group === denied.group && resources.includes(denied.resource) && (where === 'cluster' || !denied.isClusterWide),
  );
  const { file } =
    candidates.find(({ verbs, names }) => verbs.includes(denied.verb) && denied.name !== undefined && names.includes(denied.name)) ??
    candidates.find(({ verbs, names }) => verbs.includes(denied.verb) && names.length === 0) ??
    candidates[0] ??
    {};
  const value = file === undefined ? undefined : chartValues[file];
  // Other resources are those of `lists.resources`.
  return file === undefined || value === undefined ? 'grant it list and watch on them' : command(file, value);
}

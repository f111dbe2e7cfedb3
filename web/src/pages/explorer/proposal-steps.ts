/** A proposal that replaces a standing binding by access requests: an AccessPolicy, and the end of the binding. */
import { api, bodyOf, type Schemas } from '../../api/client';
import { apiPath } from '../../api/kinds';
import { deleteOptions, getJson, type Metadata, write } from '../../api/objects';
import { asRead } from '../bindings/as-read';

type Item = Schemas['StandingAccessList']['items'][number];

export interface Approval {
  kind: 'User' | 'Group';
  name: string;
  hours: number;
}

const policies = { group: 'auth.platform.io', version: 'v1', resource: 'accesspolicies' };
const maxNameLength = 63;

/** Subjects that may ask for a role. ServiceAccounts and the groups of Kubernetes itself cannot. */
const askingSubjects = ({ subjects }: Item) =>
  subjects.filter(({ kind, name }) => kind !== 'ServiceAccount' && (!name.startsWith('system:') || name === 'system:authenticated'));

/** Subjects that lose the role without a way to ask for it. */
export const leftOut = (item: Item) => {
  const asking = askingSubjects(item);
  return item.subjects.filter((subject) => !asking.includes(subject));
};

/** Reports whether a policy can offer the role: a Role of a namespace cannot be requested, and a policy names 50 subjects at most. */
export const canBeRequested = (item: Item): boolean =>
  item.role.kind === 'ClusterRole' && askingSubjects(item).length > 0 && item.subjects.length <= 50;

/** Returns a name of at most 63 characters. @param suffix random, so that a further proposal has another name */
export function policyName({ binding: { name } }: Item, suffix: string): string {
  const plain = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  const room = maxNameLength - suffix.length - 1;
  return `${plain.slice(0, room).replace(/^-/, '').replace(/-$/, '') || 'policy'}-${suffix}`;
}

export const policyOf = (item: Item, name: string, { kind, name: approver, hours }: Approval) => ({
  apiVersion: 'auth.platform.io/v1',
  kind: 'AccessPolicy',
  metadata: { name },
  spec: {
    displayName: `${item.role.name} (${item.binding.name})`.slice(0, maxNameLength),
    subjects: askingSubjects(item).map(({ kind: of, name: who }) => ({ kind: of, name: who })),
    roleRefs: [item.role.name],
    scope: item.binding.namespace === '' ? { cluster: true } : { namespaces: { names: [item.binding.namespace] } },
    maxSeconds: Math.round(hours * 3600),
    approvals: 1,
    approvers: [{ kind, name: approver }],
  },
});

type Policy = ReturnType<typeof policyOf>;

/** Rights of a caller who replaces a binding. Without `propose` an administrator creates the policy. */
export const rightsOf = ({ binding: { namespace } }: Item) => ({
  propose: { verb: 'create', resource: policies.resource },
  simulate: { verb: 'create', resource: 'simulations', ...(namespace && { namespace }) },
});

/** Simulates the end of a RoleBinding for the owner of its namespace. */
export function simulateEnd({ binding: { name, namespace } }: Item, signal: AbortSignal): Promise<Schemas['Simulation']> {
  const change = { type: 'delete' as const, kind: 'RoleBinding' as const, name, namespace };
  return bodyOf(api.POST('/auth/v1/simulations', { body: { changes: [change] }, signal }));
}

const bindingPath = ({ binding: { kind, namespace, name } }: Item): string =>
  apiPath(
    { group: 'rbac.authorization.k8s.io', version: 'v1', resource: `${kind.toLowerCase()}s` },
    { name, ...(namespace && { namespace }) },
  );

/** Outcome of the dry run, and the version of the binding that it is about, or of its UserBinding. */
export interface DryRun {
  simulation: Schemas['Simulation'];
  binding: Metadata | Schemas['UserBinding'];
}

/** Sends the policy and the end of the binding as dry runs, with the rights of the caller. @throws Problem for a refused policy */
export async function dryRun(item: Item, policy: Policy, signal: AbortSignal): Promise<DryRun> {
  const { kind, name, namespace, userBinding } = item.binding;
  const change =
    userBinding === undefined
      ? { type: 'delete' as const, kind, name, ...(namespace && { namespace }) }
      : { type: 'delete' as const, kind: 'UserBinding' as const, name: userBinding };
  const binding =
    userBinding === undefined
      ? (await getJson<{ metadata: Metadata }>(bindingPath(item), signal)).metadata
      : await bodyOf(api.GET('/auth/v2/userbindings/{name}', { params: { path: { name: userBinding } }, signal }));
  await write(`${apiPath(policies)}?dryRun=All`, { method: 'POST', body: policy, signal });
  const simulation = await bodyOf(api.POST('/auth/v1/simulations', { body: { changes: [change] }, signal }));
  return { simulation, binding };
}

interface Ready {
  metadata: { generation?: number };
  status?: { observedGeneration?: number; conditions?: readonly { type: string; status: string; message?: string }[] };
}

const readyAttempts = 20;
const attemptMs = 500;

/** Creates the policy with the rights of the caller. */
export async function createPolicy(policy: Policy, signal: AbortSignal): Promise<void> {
  await write(apiPath(policies), { method: 'POST', body: policy, signal });
}

/** Waits until users can ask by the policy. @returns the reason why they cannot; undefined if they can */
export async function whyNotReady(name: string, signal: AbortSignal): Promise<string | undefined> {
  let reason = '';
  for (let attempt = 0; attempt < readyAttempts; attempt += 1) {
    const { metadata, status } = await getJson<Ready>(apiPath(policies, { name }), signal);
    const ready = status?.observedGeneration === metadata.generation ? status?.conditions?.find(({ type }) => type === 'Ready') : undefined;
    if (ready?.status === 'True') return undefined;
    reason = ready?.message ?? '';
    if (ready !== undefined) return reason;
    await new Promise((resolve) => setTimeout(resolve, attemptMs));
    signal.throwIfAborted();
  }
  return reason;
}

/** Ends the binding that the dry run was about. @returns whether it has; a binding that has changed since is not deleted */
export async function endBinding(item: Item, binding: DryRun['binding'], signal: AbortSignal): Promise<boolean> {
  if ('spec' in binding) {
    const path = { name: binding.metadata.name };
    const remove = (preconditions: object) =>
      bodyOf(api.DELETE('/auth/v2/userbindings/{name}', { params: { path }, body: { preconditions }, signal }));
    return (await asRead(binding, remove, signal)) === undefined;
  }
  const { uid, resourceVersion } = binding;
  const body = { ...deleteOptions(uid, 'Background'), preconditions: { uid, resourceVersion } };
  await write(bindingPath(item), { method: 'DELETE', body, signal });
  return true;
}

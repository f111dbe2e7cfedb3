import { mapLimit } from '@atrium/http/limits/semaphore.ts';
import { writeStatus } from '@atrium/kubernetes/controllers/status-writer.ts';
import type { Outcome as WorkOutcome } from '@atrium/kubernetes/controllers/work-queue.ts';
import type { Subject } from '@atrium/kubernetes/rbac/role-bindings.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { ServiceResource } from '@atrium/kubernetes/resource-client.ts';
import type { WatchCache } from '@atrium/kubernetes/watch/watch-cache.ts';
import type { Services } from '../services.ts';
import { termOf } from './expiry.ts';
import type { ManagedBindings, Outcome } from './managed-bindings.ts';
import type { Owner } from './role-binding.ts';
import { storedBinding, type UserBindingRow } from './row.ts';
import { bindingFinalizer, userBindingKind } from './schema.ts';
import { type Result, recordedSubjects, statusOf, warningOf } from './status.ts';
import { hasClusterRole } from './strategy.ts';
import { boundSubjects, type Known } from './subjects.ts';
import type { TargetNamespaces } from './target-namespaces.ts';

/** Concurrent writes for one UserBinding. */
const atOnce = 4;

/** Dependencies of a reconciliation. */
export interface ReconcileContext {
  readonly services: Services;
  readonly bindings: WatchCache<UserBindingRow>;
  readonly managed: ManagedBindings;
  readonly known: Known;
  readonly targetsOf: (row: UserBindingRow) => TargetNamespaces;
}

/**
 * Reconciles the RBAC of a UserBinding, and writes its status. Writes nothing if nothing differs.
 *
 * @returns 'again' for changes that no watch reports, or the time of the next change
 * @throws StatusError 503, 504; Error for a conflict
 */
export async function reconcile(context: ReconcileContext, name: string, signal: AbortSignal): Promise<WorkOutcome> {
  const row = context.bindings.get(name);
  const object = storedBinding(row);
  // The API server's garbage collection removes bindings whose owner is gone.
  if (row === undefined || object === undefined) return 'done';
  if (row.isDeleted) return finish(context, row, object, signal);
  const held = row.finalizers.includes(bindingFinalizer)
    ? object
    : unchanged(await patch(context, object, { finalizers: [...row.finalizers, bindingFinalizer] }, signal));
  return ensure(context, row, held, signal);
}

async function ensure(context: ReconcileContext, row: UserBindingRow, object: KubernetesObject, signal: AbortSignal): Promise<WorkOutcome> {
  const { services, managed, known, targetsOf } = context;
  const owner = ownerOf(row);
  const subjects = boundSubjects(row.subjects, recordedSubjects(object), known);
  const { targets, missing } = targetsOf(row);
  const term = termOf(row, services);
  const wanted = subjects.subjects.length > 0 && term.state === 'InEffect' ? targets : [];
  for (const namespace of managed.namespacesOf(owner)) if (!wanted.includes(namespace)) await managed.remove(owner, namespace, signal);
  const { ensured, gone, problem } = await ensureEach(managed, owner, wanted, subjects.subjects, signal);
  const result: Result = {
    subjects,
    roleRef: row.roleRef,
    hasRole: hasClusterRole(services, row.roleRef),
    missing: [...new Set([...missing, ...gone])],
    targets: targets.length,
    ensured,
    problem,
    term: row.notBefore === undefined && row.expiresAt === undefined ? undefined : term.state,
  };
  const status = statusOf(object, result, services.now());
  const warning = warningOf(status);
  const written = await writeStatus(
    services,
    { kind: userBindingKind, object, wanted: status, troubles: warning ? [warning] : [] },
    signal,
  );
  if (written === 'again') return 'again';
  // Otherwise the next reconciliation would read the old status.
  if (written !== 'unchanged') await context.bindings.waitForWrite(written.metadata.resourceVersion, signal);
  // The status of the role is preliminary until the roles are synced.
  const isSettled = term.state === 'Expired' || (problem === undefined && result.hasRole && services.rbac.isSynced && gone.length === 0);
  if (term.changesAt === undefined) return isSettled ? 'done' : 'again';
  return { requeueAt: term.changesAt, isRetried: !isSettled };
}

async function ensureEach(
  managed: ManagedBindings,
  owner: Owner,
  namespaces: readonly string[],
  subjects: readonly Subject[],
  signal: AbortSignal,
) {
  const ensured: Result['ensured'] = { clusterRoleBindings: 0, roleBindings: 0 };
  const gone: string[] = [];
  let problem: Result['problem'];
  await mapLimit(atOnce, namespaces, async (namespace) => {
    const outcome = await managed.ensure(owner, namespace, subjects, signal);
    if (outcome === 'ensured') ensured[namespace === '' ? 'clusterRoleBindings' : 'roleBindings'] += 1;
    else if (outcome === 'no-namespace') gone.push(namespace);
    else problem ??= problemOf(outcome, owner, namespace);
  });
  return { ensured, gone, problem };
}

/** Removes the RBAC before the finalizer, so that no role outlives its UserBinding. */
async function finish(context: ReconcileContext, row: UserBindingRow, object: KubernetesObject, signal: AbortSignal): Promise<'done'> {
  if (!row.finalizers.includes(bindingFinalizer)) return 'done';
  const { managed } = context;
  const owner = ownerOf(row);
  for (const namespace of managed.namespacesOf(owner)) await managed.remove(owner, namespace, signal);
  const finalizers = row.finalizers.filter((finalizer) => finalizer !== bindingFinalizer);
  const written = await patch(context, object, { finalizers }, signal);
  if (written !== 'gone') unchanged(written);
  return 'done';
}

/** Patches the metadata of the UserBinding, unless it was changed since it was read. */
function patch(
  { services }: ReconcileContext,
  { metadata: { name, resourceVersion } }: KubernetesObject,
  metadata: object,
  signal: AbortSignal,
): Promise<KubernetesObject | 'conflict' | 'gone'> {
  return new ServiceResource(services.client, userBindingKind).patch(name, { metadata: { resourceVersion, ...metadata } }, { signal });
}

/** @throws Error for a conflict */
function unchanged(written: KubernetesObject | 'conflict' | 'gone'): KubernetesObject {
  if (written === 'conflict' || written === 'gone') throw new Error('the UserBinding was changed by another writer');
  return written;
}

const ownerOf = ({ name, uid, roleRef }: UserBindingRow): Owner => ({ name, uid, roleRef });

function problemOf(outcome: Exclude<Outcome, 'ensured' | 'no-namespace'>, { roleRef }: Owner, namespace: string): Result['problem'] {
  const where = namespace === '' ? '' : ` in the namespace ${namespace}`;
  if (outcome === 'taken')
    return {
      reason: 'NameTaken',
      message: `a binding${where} has the name that this UserBinding needs and does not belong to it: rename or delete it`,
    };
  if (outcome === 'not-allowed')
    return {
      reason: 'NotAllowedToBind',
      message: `the service may not bind the ClusterRole ${roleRef}: see rbac.userBindings of the chart`,
    };
  return { reason: 'Refused', message: `the API server refuses the binding${where}: ${outcome.refused}` };
}

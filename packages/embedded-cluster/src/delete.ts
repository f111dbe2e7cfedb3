/**
 * Deletion: at once, or, while finalizers hold the object, by a mark that the removal of the last finalizer completes.
 *
 * @see https://kubernetes.io/docs/concepts/overview/working-with-objects/finalizers/
 */
import { type FieldError, notSupported } from '@atrium/objects/field-error.ts';
import { badRequest, conflict, invalid, type Status, StatusError } from '@atrium/objects/status.ts';
import { z } from 'zod';
import { admitByPolicies } from './admission.ts';
import { getObject, type WriteContext } from './backend.ts';
import { cleanupFinalizer } from './custom-resources.ts';
import { keyOf, type StoredObject, timestamp, valueAt } from './objects.ts';
import type { Backend, Target } from './resources.ts';
import { collectionOf, type ResourceType } from './resources.ts';

const policies = ['Foreground', 'Background', 'Orphan'] as const;
const protectedNamespaces = new Set(['default', 'kube-system', 'kube-public']);

const bodySchema = z.object({
  gracePeriodSeconds: z.number().nullish(),
  propagationPolicy: z.string().nullish(),
  orphanDependents: z.boolean().nullish(),
  preconditions: z.object({ uid: z.string().nullish(), resourceVersion: z.string().nullish() }).nullish(),
  dryRun: z.array(z.string()).nullish(),
});

export interface DeleteOptions {
  policy: (typeof policies)[number];
  uid?: string | undefined;
  resourceVersion?: string | undefined;
  isDryRun: boolean;
  /** Default: the grace period of the object. */
  graceSeconds?: number | undefined;
}

/** Reads the options from the body; from the query only if there is no body. @throws StatusError 400 or 422 */
export function deleteOptions(given: URLSearchParams, body: unknown): DeleteOptions {
  const query = body === undefined ? given : new URLSearchParams();
  const parsed = bodySchema.safeParse(body ?? {});
  if (!parsed.success) throw badRequest('the body is not a DeleteOptions object');
  const { propagationPolicy, orphanDependents, preconditions, dryRun, gracePeriodSeconds } = parsed.data;
  const grace = gracePeriodSeconds ?? (query.has('gracePeriodSeconds') ? Number(query.get('gracePeriodSeconds')) : undefined);
  const wanted = propagationPolicy ?? query.get('propagationPolicy') ?? (orphanDependents ? 'Orphan' : 'Background');
  const dryRuns = dryRun ?? query.getAll('dryRun').filter(Boolean);
  const policy = policies.find((one) => one === wanted);
  const errors: FieldError[] = policy ? [] : [notSupported('propagationPolicy', wanted, [...policies, 'nil'])];
  if (dryRuns.some((value) => value !== 'All')) errors.push(notSupported('dryRun', dryRuns, ['All']));
  if (!policy || errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'DeleteOptions', name: '' }, errors);
  return {
    policy,
    isDryRun: dryRuns.length > 0,
    uid: preconditions?.uid ?? undefined,
    resourceVersion: preconditions?.resourceVersion ?? undefined,
    graceSeconds: grace !== undefined && grace >= 0 ? grace : undefined,
  };
}

/**
 * Deletes an object, or marks it for deletion if finalizers or a grace period hold it.
 *
 * @param by caller; undefined for the cluster itself, which no policy refuses
 * @throws StatusError 403, 404 or 409
 */
export function deleteObject(
  backend: Backend,
  target: Target,
  options: DeleteOptions,
  by?: Pick<WriteContext, 'user' | 'warn'>,
): { object: StoredObject; isGone: boolean } {
  const { type, name } = target;
  const old = getObject(backend, target);
  if (type.kind === 'Namespace' && protectedNamespaces.has(name)) {
    throw new StatusError(403, 'Forbidden', `namespaces "${name}" is forbidden: this namespace may not be deleted`, {
      details: { name, kind: 'namespaces' },
    });
  }
  checkPreconditions(type, old, options);
  const { isDryRun } = options;
  if (by) admitByPolicies(backend, { type, operation: 'DELETE', object: undefined, old, ...by, isDryRun });
  const marked = markedForDeletion(backend, type, old, options);
  if (!marked) {
    if (!options.isDryRun) backend.store.remove(collectionOf(type), keyOf(old));
    return { object: old, isGone: true };
  }
  if (marked === old || options.isDryRun) return { object: marked, isGone: false };
  return { object: backend.store.put(collectionOf(type), marked), isGone: false };
}

function checkPreconditions(type: ResourceType, { metadata }: StoredObject, { uid, resourceVersion }: DeleteOptions): void {
  // Unlike in other answers, upstream names the kind here.
  const subject = { group: type.group, resource: type.kind };
  if (uid !== undefined && uid !== metadata.uid) {
    throw conflict(
      subject,
      metadata.name,
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`,
    );
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    throw conflict(
      subject,
      metadata.name,
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`,
    );
  }
}

/** Returns undefined if nothing holds the object, and the object itself if it was marked before. */
function markedForDeletion(backend: Backend, type: ResourceType, old: StoredObject, options: DeleteOptions): StoredObject | undefined {
  const { policy } = options;
  const grace = type.isGraceful ? graceOf(old, options) : 0;
  const finalizers = new Set(old.metadata.finalizers ?? []);
  if (policy !== 'Orphan') finalizers.delete('orphan');
  if (policy !== 'Foreground') finalizers.delete('foregroundDeletion');
  if (policy === 'Orphan') finalizers.add('orphan');
  if (policy === 'Foreground') finalizers.add('foregroundDeletion');
  if (type.kind === 'CustomResourceDefinition') finalizers.add(cleanupFinalizer);
  if (finalizers.size === 0 && grace === 0 && type.kind !== 'Namespace') return undefined;
  if (old.metadata.deletionTimestamp) return old;
  const { generation } = old.metadata;
  const marked: StoredObject = {
    ...old,
    metadata: {
      ...old.metadata,
      ...(generation !== undefined && { generation: generation + 1 }),
      deletionTimestamp: timestamp(new Date(backend.now().getTime() + grace * 1000)),
      ...(type.kind !== 'Namespace' && { deletionGracePeriodSeconds: grace }),
      ...(finalizers.size > 0 && { finalizers: [...finalizers] }),
    },
  };
  if (type.kind === 'Namespace') marked.status = { phase: 'Terminating' };
  return marked;
}

/** Returns the grace period. A pod without a node has no process to wait for. */
function graceOf({ spec }: StoredObject, { graceSeconds }: DeleteOptions): number {
  const wanted = graceSeconds ?? valueAt(spec, ['terminationGracePeriodSeconds']);
  return valueAt(spec, ['nodeName']) === undefined || typeof wanted !== 'number' ? 0 : wanted;
}

/** Returns the answer to a deletion. */
export function deletionAnswer(
  type: ResourceType,
  { object, isGone }: { object: StoredObject; isGone: boolean },
): StoredObject | Omit<Status, 'message' | 'code'> {
  if (!isGone || type.kind === 'ServiceAccount') return object;
  const { name, uid } = object.metadata;
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { name, ...(type.group && { group: type.group }), kind: type.resource, uid },
  };
}

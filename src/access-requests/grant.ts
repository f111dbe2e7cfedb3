/** The access of a request: one UserBinding of the service's account, whose name follows from the UID of the request. */
import { timestamp } from '@atrium/kubernetes/clock.ts';
import { ServiceResource } from '@atrium/kubernetes/resource-client.ts';
import { leaderMs, readUserBindingRow, removeRoles } from '../bindings/ends.ts';
import type { UserBindingRow } from '../bindings/row.ts';
import { bindingFinalizer, userBindingApiVersion, userBindingKind } from '../bindings/schema.ts';
import type { Services } from '../services.ts';
import type { AccessContext } from './context.ts';
import { accessApiVersion } from './policy.ts';
import { bindingNameOf, type RequestRow, type RequestSpec } from './request.ts';
import { lapseReasonOf, rulesHashOf, timeLapseOf, unselected } from './standing.ts';
import { finalStatus, type Transition, transition } from './status-writer.ts';

/** Bound of the wait of a request for its RBAC. */
const givenWithinMs = 3_000;

/** Returns begin and end of the access, in whole seconds. */
export function periodOf({ notBefore, durationSeconds }: RequestSpec, now: Date): Required<Pick<Transition, 'begin' | 'until'>> {
  const seconds = Math.max(Math.floor(now.getTime() / 1000), notBefore === undefined ? 0 : Date.parse(notBefore) / 1000);
  return { begin: timestamp(new Date(seconds * 1000)), until: timestamp(new Date((seconds + durationSeconds) * 1000)) };
}

/** Returns the first status of a request. */
export function firstStatus({ services: { now, rbac } }: Pick<AccessContext, 'services'>, { spec }: Pick<RequestRow, 'spec'>): Transition {
  const rulesHash = spec && rulesHashOf(rbac, spec.roleRef);
  const seen = rulesHash === undefined ? {} : { rulesHash };
  const isAtOnce = spec !== undefined && (spec.approvals === 0 || spec.breakGlass);
  return isAtOnce ? { phase: 'Approving', ...periodOf(spec, now()), ...seen } : { phase: 'Pending', ...seen };
}

/**
 * Gives the access of a request in phase Approving: checks the request once more, creates its UserBinding, and then writes Active or
 * Scheduled. Several replicas may do so at once: the name of the UserBinding is the same, and one status wins.
 *
 * @returns the request as it is then; 'conflict' if another write came first
 * @throws StatusError 503, 504
 */
export async function activate(context: AccessContext, row: RequestRow, signal: AbortSignal): Promise<RequestRow | 'conflict'> {
  const { services, policies } = context;
  const { spec } = row;
  const fall = timeLapseOf(context, row) ?? lapseReasonOf(context, row);
  if (spec === undefined || fall !== undefined) return lapse(context, row, fall ?? { reason: 'PolicyChanged', message: '' }, signal);
  const policy = policies.cache.get(spec.policy.name);
  const missing = policy === undefined ? [] : await unselected(services, policy, spec.namespaces ?? [], signal);
  if (missing.length > 0)
    return lapse(context, row, { reason: 'PolicyChanged', message: `the policy no longer covers ${missing.join(', ')}` }, signal);
  if (!(await createBinding(context, row, spec, signal)))
    return lapse(context, row, { reason: 'NameTaken', message: 'another UserBinding has the name of the one of this request' }, signal);
  const phase = row.begin > services.now().getTime() ? 'Scheduled' : 'Active';
  const written = await transition(context, row, { phase, binding: bindingNameOf(row) }, signal, true);
  if (written !== 'conflict') recordGrant(context, written, spec);
  return written;
}

const lapse = (context: AccessContext, row: RequestRow, why: { reason: string; message: string }, signal: AbortSignal) =>
  transition(context, row, finalStatus('Lapsed', why, context.services.now()), signal);

/** @returns false if another object has the name */
async function createBinding({ services }: AccessContext, row: RequestRow, spec: RequestSpec, signal: AbortSignal): Promise<boolean> {
  const binding = bindingOf(services, row, spec);
  // A definition without the fields of the period would drop them, and the role would never expire.
  const created = await new ServiceResource(services.client, userBindingKind).create(binding, { isStrict: true, signal });
  if (created !== 'conflict') return true;
  return (await storedBinding(services, row, signal))?.request?.uid === row.uid;
}

/** Returns the UserBinding of a request. */
const bindingOf = ({ now }: Pick<Services, 'now'>, row: RequestRow, spec: RequestSpec) => ({
  apiVersion: userBindingApiVersion,
  kind: 'UserBinding',
  metadata: {
    name: bindingNameOf(row),
    finalizers: [bindingFinalizer],
    ownerReferences: [{ apiVersion: accessApiVersion, kind: 'AccessRequest', name: row.name, uid: row.uid }],
  },
  spec: {
    subjects: [{ kind: 'User', name: spec.record }],
    roleRef: spec.roleRef,
    scope: spec.scope,
    ...(spec.scope === 'namespace' && { constraint: (spec.namespaces ?? []).map((namespace) => ({ namespace })) }),
    ...(row.begin > now().getTime() && { notBefore: timestamp(new Date(row.begin)) }),
    expiresAt: timestamp(new Date(row.until)),
    request: { name: row.name, uid: row.uid, recordUID: spec.recordUID },
  },
});

/** Reads the UserBinding of a request from the API server. */
export const storedBinding = ({ client }: Services, row: RequestRow, signal: AbortSignal): Promise<UserBindingRow | undefined> =>
  readUserBindingRow(client, bindingNameOf(row), signal);

function recordGrant({ services }: AccessContext, row: RequestRow, spec: RequestSpec): void {
  services.audit.record({
    audit: 'AccessGranted',
    target: { name: row.name, uid: row.uid },
    outcome: 'success',
    access: accessOf(row, spec),
  });
}

/** Returns the members of audit events about a request. */
export const accessOf = ({ until }: Pick<RequestRow, 'until'>, { requester, policy, roleRef, namespaces }: RequestSpec) => ({
  requester,
  policy: policy.name,
  role: roleRef,
  ...(namespaces && { namespaces }),
  ...(!Number.isNaN(until) && { until: timestamp(new Date(until)) }),
});

/** Gives the access of a request that has its approvals, and waits a bounded time for its RBAC. A failure is left to the leader. */
export async function grantAccess(context: AccessContext, row: RequestRow, signal: AbortSignal): Promise<RequestRow> {
  if (row.phase !== 'Approving') return row;
  try {
    const written = await activate(context, row, signal);
    if (written === 'conflict') return row;
    const hasRBAC = () => context.bindings.get(bindingNameOf(written))?.phase === 'Synced';
    if (written.phase === 'Active') await context.bindings.until(hasRBAC, givenWithinMs, signal);
    return written;
  } catch (error) {
    context.services.log.warn({ accessRequest: row.name, err: error }, 'access could not be granted, retrying');
    return row;
  }
}

/** Deletes the UserBinding of a request. Its controller removes the RBAC before the UserBinding. @throws StatusError 503, 504 */
export async function removeBinding({ services, bindings }: AccessContext, row: RequestRow, signal: AbortSignal): Promise<void> {
  const found = bindings.get(bindingNameOf(row));
  if (found?.isDeleted === true) return;
  const resource = new ServiceResource(services.client, userBindingKind);
  await resource.remove(bindingNameOf(row), { propagationPolicy: 'Background', signal });
}

/** Removes the access of a request, and returns once its RBAC is gone, also while no replica leads. @throws StatusError 503, 504 */
export async function removeAccess(context: AccessContext, row: RequestRow, signal: AbortSignal): Promise<void> {
  const { bindings, services } = context;
  const name = bindingNameOf(row);
  // Another replica may have created it a moment ago.
  if (bindings.get(name) === undefined && (await storedBinding(services, row, signal)) !== undefined)
    await bindings.waitForWrite(() => bindings.get(name) !== undefined, signal);
  await removeBinding(context, row, signal);
  await bindings.until(() => bindings.get(name) === undefined, leaderMs, signal);
  const left = bindings.get(name);
  // The UserBinding stays until a leader removes its finalizer.
  if (left !== undefined) await removeRoles(services.client, left, signal);
}

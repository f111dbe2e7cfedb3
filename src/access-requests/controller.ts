import { timestamp } from '@atrium/kubernetes/clock.ts';
import { Controller, type Source, type Term } from '@atrium/kubernetes/controllers/controller.ts';
import { writeStatus } from '@atrium/kubernetes/controllers/status-writer.ts';
import type { Outcome } from '@atrium/kubernetes/controllers/work-queue.ts';
import { report } from '@atrium/kubernetes/events.ts';
import { setConditions } from '@atrium/kubernetes/object-status.ts';
import { isKubernetesObject } from '@atrium/kubernetes/resource.ts';
import { begin } from './break-glass.ts';
import { type AccessSources, RequestChanges } from './changes.ts';
import type { AccessContext } from './context.ts';
import { accessOf, activate, removeBinding, storedBinding } from './grant.ts';
import { type NoticeTerm, withNotices } from './notices.ts';
import { accessPolicyKind } from './policy.ts';
import { accessRequestKind, bindingNameOf, isOpen, type RequestRow } from './request.ts';
import { isBindable, lapseReasonOf, phaseTimes, rulesHashOf, timeLapseOf } from './standing.ts';
import { finalStatus, readRequest, requestsOf, transition } from './status-writer.ts';

const workers = 4;
/** Time in which the replica that a user asked gives the access. The leader takes over then. */
const handlerMs = 10_000;
const retryMs = 5_000;
/** Rights of the service's account change without an event. */
const policyCheckMs = 300_000;
const dayMs = 86_400_000;
/** Time after which a change that ends a request is believed. Watches are independent: a request may be seen before its policy. */
const confirmedAfterMs = 1_500;

/**
 * Ends requests and their access in time, when the policy, the user, the role or the UserBinding changes, and completes what a replica left
 * unfinished. Writes the status of policies. Only the leader does so.
 */
export const accessController = (context: AccessContext, sources: AccessSources, notices?: () => NoticeTerm): Controller =>
  new Controller(context.services, {
    name: 'atrium-access-requests',
    workers,
    begin: () => withNotices(new AccessTerm(context, sources), notices?.()),
  });

interface Why {
  readonly reason: string;
  readonly message: string;
}

/** Requests that seem to have fallen, and since when. */
class SuspectedLapses {
  readonly #clock: () => number;
  readonly #since = new Map<string, number>();

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Notes the fall of a request. @returns whether it was noted long enough ago */
  isConfirmed(name: string): boolean {
    const since = this.#since.get(name) ?? this.#clock();
    this.#since.set(name, since);
    return this.#clock() - since >= confirmedAfterMs;
  }

  forget(name: string): void {
    this.#since.delete(name);
  }
}

/** State of the term that a reconciliation uses. */
interface Reconciliation {
  readonly context: AccessContext;
  readonly doubts: SuspectedLapses;
}

const policyKey = (name: string) => `policy/${name}`;
const requestKey = (name: string) => `request/${name}`;
/** Key of the doubts about the rules of a request's role. No request has such a name. */
const rulesKey = (name: string) => `rules/${name}`;

class AccessTerm implements Term, Source {
  readonly sources = [this];
  readonly #context: AccessContext;
  readonly #requests: RequestChanges;
  readonly #doubts: SuspectedLapses;

  constructor(context: AccessContext, sources: AccessSources) {
    this.#context = context;
    this.#requests = new RequestChanges(context, sources);
    this.#doubts = new SuspectedLapses(context.services.clock);
  }

  onChange(enqueue: (key: string) => void): () => void {
    const { policies, services } = this.#context;
    const forget = [
      this.#requests.onChange((name) => enqueue(requestKey(name))),
      policies.cache.onChange(({ key }) => enqueue(policyKey(key))),
      services.rbac.onClusterRole((name) => {
        for (const policy of policies.cache.values()) if (policy.roleRefs.includes(name)) enqueue(policyKey(policy.name));
      }),
    ];
    return () => {
      for (const end of forget) end();
    };
  }

  whenSynced(signal: AbortSignal): Promise<void> {
    return this.#requests.whenSynced(signal);
  }

  *keys(): Iterable<string> {
    for (const { name } of this.#context.policies.cache.values()) yield policyKey(name);
    for (const name of this.#requests.keys()) yield requestKey(name);
  }

  reconcile(key: string, signal: AbortSignal): Promise<Outcome> {
    const [kind, name = ''] = key.split('/');
    return kind === 'policy'
      ? reconcilePolicy(this.#context, name, signal)
      : reconcileRequest({ context: this.#context, doubts: this.#doubts }, name, signal);
  }

  onFailure(key: string, error: unknown): void {
    this.#context.services.log.warn({ access: key, err: error }, 'reconciliation of access failed');
  }
}

/** @throws StatusError 503, 504 */
async function reconcileRequest(term: Reconciliation, name: string, signal: AbortSignal): Promise<Outcome> {
  const { context } = term;
  if (context.requests.cache.get(name) === undefined) return 'done';
  // Decisions are made about the current object, and written only to that version.
  const row = await readRequest(context, name, signal);
  if (row === undefined) return 'done';
  if (!isOpen(row)) {
    term.doubts.forget(name);
    term.doubts.forget(rulesKey(name));
    return finish(context, row, signal);
  }
  if (row.phase === '') return writeFirstStatus(context, row, signal);
  const rules = await noteRules(term, row, signal);
  // The write of the rules wakes the controller up again.
  if (rules === 'written') return 'done';
  const over = timeLapseOf(context, row);
  if (over !== undefined) return end(context, row, over.phase, over, signal);
  const outcome = await reconcilePhase(term, row, signal);
  return rules === 'doubtful' && outcome !== 'again' ? { requeueAfterMs: confirmedAfterMs } : outcome;
}

function reconcilePhase(term: Reconciliation, row: RequestRow, signal: AbortSignal): Promise<Outcome> {
  const { context } = term;
  switch (row.phase) {
    case 'Pending':
      return reconcilePending(term, row, signal);
    case 'Approving':
      return reconcileApproving(context, row, signal);
    default:
      return reconcileGiven(term, row, signal);
  }
}

/**
 * Notes a change of the rules of the role, which takes effect at once for active access.
 *
 * @returns 'doubtful' for a change that may come from a watch that is behind that of another replica
 * @throws StatusError 503, 504
 */
async function noteRules(
  { context, doubts }: Reconciliation,
  row: RequestRow,
  signal: AbortSignal,
): Promise<'same' | 'doubtful' | 'written'> {
  const { services } = context;
  const { name, uid, spec, rulesHash } = row;
  const key = rulesKey(name);
  const isSameRole = spec !== undefined && services.rbac.clusterRoleUID(spec.roleRef) === spec.roleUID;
  const seen = isSameRole ? rulesHashOf(services.rbac, spec.roleRef) : undefined;
  if (spec === undefined || seen === undefined || seen === rulesHash) {
    doubts.forget(key);
    return 'same';
  }
  if (rulesHash !== undefined && !doubts.isConfirmed(key)) return 'doubtful';
  doubts.forget(key);
  const change = { rulesHash: seen, ...(rulesHash !== undefined && { rulesChangedAt: timestamp(services.now()) }) };
  const written = await transition(context, row, change, signal);
  if (written === 'conflict' || rulesHash === undefined) return 'written';
  const message = `the rules of the ClusterRole ${spec.roleRef} have changed since ${spec.requester} asked for it`;
  const event = { type: 'Warning', reason: 'RoleChanged', message, action: 'Reconcile' } as const;
  await report(services, { kind: accessRequestKind, object: { metadata: { name, uid } } }, event, signal);
  return 'written';
}

/** Writes the first status of a request that its replica could not write. */
async function writeFirstStatus(context: AccessContext, row: RequestRow, signal: AbortSignal): Promise<Outcome> {
  const { services } = context;
  const startsAt = row.created + handlerMs;
  if (services.now().getTime() < startsAt) return { requeueAt: startsAt };
  return outcomeOf(await begin(context, row, signal));
}

const outcomeOf = (written: RequestRow | 'conflict'): Outcome => (written === 'conflict' ? 'again' : 'done');

async function reconcilePending({ context, doubts }: Reconciliation, row: RequestRow, signal: AbortSignal): Promise<Outcome> {
  const fall = lapseReasonOf(context, row);
  if (fall === undefined) {
    doubts.forget(row.name);
    return { requeueAt: phaseTimes(context, row).endsAt };
  }
  return doubts.isConfirmed(row.name) ? end(context, row, 'Lapsed', fall, signal) : { requeueAfterMs: confirmedAfterMs };
}

async function reconcileApproving(context: AccessContext, row: RequestRow, signal: AbortSignal): Promise<Outcome> {
  const { services } = context;
  const takesOverAt = phaseTimes(context, row).approvedAt + handlerMs;
  if (services.now().getTime() < takesOverAt) return { requeueAt: takesOverAt };
  const written = await activate(context, row, signal).catch((error: unknown) => {
    services.log.warn({ accessRequest: row.name, err: error }, 'access could not be granted, retrying');
    return undefined;
  });
  return written === undefined ? { requeueAfterMs: retryMs } : outcomeOf(written);
}

async function reconcileGiven({ context, doubts }: Reconciliation, row: RequestRow, signal: AbortSignal): Promise<Outcome> {
  const { services } = context;
  const now = services.now().getTime();
  const fall = lapseReasonOf(context, row);
  const isDoubtful = fall !== undefined && !doubts.isConfirmed(row.name);
  // Another replica may have deleted the UserBinding for this reason while no replica led.
  if (isDoubtful) return { requeueAfterMs: confirmedAfterMs };
  const over = fall ?? (await bindingFall(context, row, signal));
  if (over !== undefined) return end(context, row, 'Ended', over, signal);
  doubts.forget(row.name);
  if (row.phase === 'Scheduled' && now >= row.begin) return outcomeOf(await transition(context, row, { phase: 'Active' }, signal));
  return { requeueAt: row.phase === 'Scheduled' ? row.begin : row.until };
}

/** Returns how the UserBinding was deleted or shortened by hand. @throws StatusError 503, 504 */
async function bindingFall({ bindings, services }: AccessContext, row: RequestRow, signal: AbortSignal): Promise<Why | undefined> {
  // The watch may not have seen a new UserBinding yet.
  const binding = bindings.get(bindingNameOf(row)) ?? (await storedBinding(services, row, signal));
  if (binding === undefined || binding.isDeleted) return { reason: 'BindingDeleted', message: 'the UserBinding was deleted' };
  if (binding.expiresAt !== undefined && binding.expiresAt < row.until)
    return { reason: 'BindingShortened', message: 'the UserBinding was shortened' };
  return undefined;
}

async function end(context: AccessContext, row: RequestRow, phase: 'Lapsed' | 'Ended', why: Why, signal: AbortSignal): Promise<Outcome> {
  const { services } = context;
  const written = await transition(context, row, finalStatus(phase, why, services.now()), signal);
  if (written === 'conflict') return 'again';
  if (row.spec !== undefined)
    services.audit.record({
      audit: 'AccessEnded',
      target: { name: row.name, uid: row.uid },
      outcome: 'success',
      reason: why.reason,
      access: accessOf(written, row.spec),
    });
  return finish(context, written, signal);
}

/** Removes the access of a request that is over, and after some time the request. */
async function finish(context: AccessContext, row: RequestRow, signal: AbortSignal): Promise<Outcome> {
  const { bindings, services } = context;
  if (bindings.get(bindingNameOf(row)) !== undefined) await removeBinding(context, row, signal);
  const endedAt = Number.isNaN(row.ended) ? row.created : row.ended;
  const goesAt = endedAt + services.config.accessRequests.keepDays * dayMs;
  if (services.now().getTime() < goesAt) return { requeueAt: goesAt };
  const preconditions = { uid: row.uid, resourceVersion: row.resourceVersion };
  await requestsOf(context).remove(row.name, { preconditions, signal });
  return 'done';
}

/** Writes the conditions of a policy. */
async function reconcilePolicy(context: AccessContext, name: string, signal: AbortSignal): Promise<Outcome> {
  const { policies, services } = context;
  const row = policies.cache.get(name);
  const object: unknown = row && JSON.parse(row.text);
  if (row === undefined || !isKubernetesObject(object)) return 'done';
  const missing = row.roleRefs.filter((role) => !services.rbac.hasClusterRole(role));
  const unbindable: string[] = [];
  for (const role of row.roleRefs) if (!(await isBindable(services, role, signal))) unbindable.push(role);
  const observedGeneration = row.generation;
  const condition = (type: string, trouble: readonly string[], reason: string, text: string) => ({
    type,
    status: trouble.length === 0 ? ('True' as const) : ('False' as const),
    reason: trouble.length === 0 ? 'AsExpected' : reason,
    message: trouble.length === 0 ? '' : `${text}: ${trouble.join(', ')}`,
    observedGeneration,
  });
  const found = condition('RolesFound', missing, 'RoleNotFound', 'the ClusterRoles do not exist');
  const bindable = condition(
    'RolesBindable',
    unbindable,
    'NotAllowedToBind',
    'the service may not bind these ClusterRoles, see rbac.userBindings of the chart',
  );
  const trouble = [found, bindable].find(({ status }) => status === 'False');
  const ready = trouble === undefined ? { ...found, type: 'Ready' } : { ...trouble, type: 'Ready' };
  const conditions = setConditions(object.status, [ready, found, bindable], services.now());
  const written = await writeStatus(services, { kind: accessPolicyKind, object, wanted: { observedGeneration, conditions } }, signal);
  return written === 'again' ? 'again' : { requeueAfterMs: policyCheckMs };
}

/** Statuses that controllers write: unless the object has changed meanwhile, and with an Event for each new trouble. */
import { type EventNeeds, report } from '../events.ts';
import { type Condition, changedStatus, conditionOf } from '../object-status.ts';
import type { KubernetesObject } from '../resource.ts';
import { type ResourceKind, ServiceResource } from '../resource-client.ts';

export interface ReconciledStatus {
  readonly kind: ResourceKind;
  /** The object as it was read. The status is written for this version alone. */
  readonly object: { readonly metadata: Pick<KubernetesObject['metadata'], 'name' | 'resourceVersion'>; readonly status?: unknown };
  /** Members of the status. null removes a member. */
  readonly wanted: Readonly<Record<string, unknown>>;
  /** Conditions among them that become Warning Events when they are new to the object. */
  readonly troubles?: readonly Condition[];
  /** Writes the changed members; undefined if the object was changed or deleted. Default: a merge patch of the status. */
  write?(members: Readonly<Record<string, unknown>>): Promise<KubernetesObject | undefined>;
}

/**
 * Writes the members of the status that differ, and then reports new troubles. A lost Event is no failure.
 *
 * @returns 'again' if the object was changed or deleted since it was read, the written object otherwise
 * @throws StatusError 503, 504
 */
export async function writeStatus(
  needs: EventNeeds,
  { kind, object, wanted, troubles = [], write }: ReconciledStatus,
  signal: AbortSignal,
): Promise<KubernetesObject | 'unchanged' | 'again'> {
  const members = changedStatus(object.status, wanted);
  if (members === undefined) return 'unchanged';
  const written = await (write ? write(members) : patch(new ServiceResource(needs.client, kind), object.metadata, members, signal));
  if (written === undefined) return 'again';
  for (const condition of troubles) if (isNew(condition, object.status)) await reportTrouble(needs, kind, written, condition, signal);
  return written;
}

async function patch(
  resource: ServiceResource,
  { name, resourceVersion }: ReconciledStatus['object']['metadata'],
  status: object,
  signal: AbortSignal,
): Promise<KubernetesObject | undefined> {
  const written = await resource.patchStatus(name, { metadata: { resourceVersion }, status }, { signal });
  return written === 'conflict' || written === 'gone' ? undefined : written;
}

/**
 * Reports whether the condition is news for the object. A resync or a new leader has none, because the status tells what was reported. A
 * message that changes without the spec, such as a list of members that grows shorter, is none either.
 */
function isNew({ type, status, reason, message, observedGeneration }: Condition, before: unknown): boolean {
  const old = conditionOf(before, type);
  return old?.status !== status || old.reason !== reason || (old.message !== message && old.observedGeneration !== observedGeneration);
}

/** Bound of the message of an Event. */
const maxMessageLength = 1024;

function reportTrouble(
  needs: EventNeeds,
  kind: ResourceKind,
  object: KubernetesObject,
  { reason, message }: Condition,
  signal: AbortSignal,
): Promise<void> {
  const event = { type: 'Warning', reason, message: (message || reason).slice(0, maxMessageLength), action: 'Reconcile' } as const;
  return report(needs, { kind, object }, event, signal);
}

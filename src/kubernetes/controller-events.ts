/** Events that controllers write about the objects that they reconcile. */
import { randomBytes } from 'node:crypto';
import { clusterEventNamespace, createEvent, type EventInput } from './events.ts';
import type { ServiceClient } from './kubernetes-client.ts';
import { type Condition, conditionOf } from './object-status.ts';
import type { KubernetesObject } from './resource.ts';
import type { ResourceKind } from './resource-client.ts';

const maxMessageLength = 1024;

interface EventNeeds {
  readonly client: ServiceClient;
  readonly log: { debug(fields: object, message: string): void };
  readonly now: () => Date;
  readonly config: { readonly audit: { readonly kubernetesEvents: boolean } };
}

interface Reconciled {
  readonly kind: ResourceKind;
  /** The object as it was before. */
  readonly object: KubernetesObject;
}

/** Creates an Event about a cluster-scoped object. A lost Event is no failure. */
export async function report(
  { client, log, now, config }: EventNeeds,
  { kind: { type, kind }, object }: Reconciled,
  event: Pick<EventInput, 'type' | 'reason' | 'message' | 'action'>,
  signal: AbortSignal,
): Promise<void> {
  if (!config.audit.kubernetesEvents) return;
  const { name, uid } = object.metadata;
  const input = {
    ...event,
    namespace: clusterEventNamespace,
    involvedObject: { apiVersion: `${type.group}/${type.version}`, kind, name, uid },
    suffix: randomBytes(8).toString('hex'),
    time: now(),
  };
  await createEvent(client, input, signal).catch((error: unknown) => log.debug({ kind, name, err: error }, 'an Event was lost'));
}

/** A condition that a controller has just written to an object, and that is not True. */
export interface Trouble extends Reconciled {
  readonly condition: Condition;
}

/**
 * Creates a Warning Event for a trouble that is new to the object. A resync or a new leader repeats none, because the status that the
 * object had tells what was reported.
 */
export async function reportTrouble(needs: EventNeeds, { condition, ...reconciled }: Trouble, signal: AbortSignal): Promise<void> {
  if (!isNews(conditionOf(reconciled.object.status, condition.type), condition)) return;
  const { reason, message } = condition;
  const event = { type: 'Warning', reason, message: (message || reason).slice(0, maxMessageLength), action: 'Reconcile' } as const;
  await report(needs, reconciled, event, signal);
}

/** A message that changes without the spec, such as a list of members that grows shorter, is no news. */
const isNews = (before: ReturnType<typeof conditionOf>, { status, reason, message, observedGeneration }: Condition): boolean =>
  before?.status !== status || before.reason !== reason || (before.message !== message && before.observedGeneration !== observedGeneration);

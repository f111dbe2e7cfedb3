import { randomBytes } from 'node:crypto';
import { createEvent } from './events.ts';
import type { ServiceClient } from './kubernetes-client.ts';
import { type Condition, conditionOf } from './object-status.ts';
import type { KubernetesObject } from './resource.ts';
import type { ResourceKind } from './resource-client.ts';

/** Namespace of Events about cluster-scoped objects. The API server stores them in no other one. */
const eventNamespace = 'default';
const maxMessageLength = 1024;

interface TroubleNeeds {
  readonly client: ServiceClient;
  readonly log: { debug(fields: object, message: string): void };
  readonly now: () => Date;
  readonly config: { readonly audit: { readonly kubernetesEvents: boolean } };
}

/** A condition that a controller has just written to an object, and that is not True. */
export interface Trouble {
  readonly kind: ResourceKind;
  /** The object as it was before. */
  readonly object: KubernetesObject;
  readonly condition: Condition;
}

/**
 * Creates a Warning Event for a trouble that is new to the object. A resync or a new leader repeats none, because the status that the
 * object had tells what was reported. A lost Event is no failure.
 */
export async function reportTrouble(
  needs: TroubleNeeds,
  { kind: { type, kind }, object, condition }: Trouble,
  signal: AbortSignal,
): Promise<void> {
  if (!needs.config.audit.kubernetesEvents || !isNews(conditionOf(object.status, condition.type), condition)) return;
  const { name, uid } = object.metadata;
  const event = {
    namespace: eventNamespace,
    involvedObject: { apiVersion: `${type.group}/${type.version}`, kind, name, uid },
    suffix: randomBytes(8).toString('hex'),
    type: 'Warning' as const,
    reason: condition.reason,
    message: (condition.message || condition.reason).slice(0, maxMessageLength),
    action: 'Reconcile',
    time: needs.now(),
  };
  await createEvent(needs.client, event, signal).catch((error: unknown) =>
    needs.log.debug({ kind, name, err: error }, 'an Event was lost'),
  );
}

/** A message that changes without the spec, such as a list of members that grows shorter, is no news. */
const isNews = (before: ReturnType<typeof conditionOf>, { status, reason, message, observedGeneration }: Condition): boolean =>
  before?.status !== status || before.reason !== reason || (before.message !== message && before.observedGeneration !== observedGeneration);

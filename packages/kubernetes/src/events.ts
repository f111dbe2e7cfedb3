import { randomBytes } from 'node:crypto';
import { timestamp } from './clock.ts';
import type { ServiceClient } from './own-account.ts';
import { type KubernetesObject, resourcePath } from './resource.ts';
import type { ResourceKind } from './resource-client.ts';

const eventType = { group: '', version: 'v1', resource: 'events' };
/** Namespace of Events about cluster-scoped objects. The API server stores them in no other one. */
export const clusterEventNamespace = 'default';
/** Bound of the part from the name of the object. Names have at most 253 characters, and a dot and 16 digits follow. */
const maxNameLength = 236;

export interface EventInput {
  namespace: string;
  involvedObject: { apiVersion: string; kind: string; name: string; uid: string; namespace?: string; resourceVersion?: string };
  /** 16 characters that distinguish this Event from others of the object. The same suffix again is a 409. */
  suffix: string;
  type: 'Normal' | 'Warning';
  reason: string;
  message: string;
  action: string;
  time: Date;
}

/**
 * Writes an Event that `kubectl describe` shows with the object.
 *
 * @throws StatusError 409 if an Event with that suffix exists; like `ServiceClient.request`
 * @see https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/ (in the core group, where the parts are the same)
 */
export async function createEvent(
  client: ServiceClient,
  { namespace, suffix, time, ...event }: EventInput,
  signal: AbortSignal,
): Promise<void> {
  const name = `${withLegalEnd(event.involvedObject.name.slice(0, maxNameLength))}.${suffix}`;
  const at = timestamp(time);
  await client.request({
    method: 'POST',
    path: resourcePath(eventType, { namespace }),
    call: 'create events',
    signal,
    body: {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { namespace, name },
      ...event,
      source: { component: 'atrium' },
      reportingComponent: 'atrium',
      reportingInstance: 'atrium',
      firstTimestamp: at,
      lastTimestamp: at,
      count: 1,
    },
  });
}

/** Removes characters that cannot end a DNS label (RFC 1123, section 2.1). */
const withLegalEnd = (name: string): string => (/[-.]$/.test(name) ? withLegalEnd(name.slice(0, -1)) : name);

/** Services that write Events. */
export interface EventNeeds {
  readonly client: ServiceClient;
  readonly log: { debug(fields: object, message: string): void };
  readonly now: () => Date;
  readonly config: { readonly audit: { readonly kubernetesEvents: boolean } };
}

/** Creates an Event about a cluster-scoped object. A lost Event is no failure. */
export async function report(
  { client, log, now, config }: EventNeeds,
  { kind: { type, kind }, object }: { kind: ResourceKind; object: { metadata: Pick<KubernetesObject['metadata'], 'name' | 'uid'> } },
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
  await createEvent(client, input, signal).catch((error: unknown) => log.debug({ kind, name, err: error }, 'Event could not be written'));
}

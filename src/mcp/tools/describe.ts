import { isMembers, type Members, membersOf, textOf } from '@atrium/objects/members.ts';
import { objectState } from '@atrium/objects/object-state.ts';
import { containersOf, containerWord, troublesOf } from '@atrium/objects/pod-containers.ts';
import { StatusError } from '@atrium/objects/status.ts';
import { z } from 'zod';
import type { ClusterReads } from '../cluster.ts';
import { readClusterEvents } from '../cluster-events.ts';
import { object as objectInput } from '../inputs.ts';
import type { Kinds } from '../kinds.ts';
import { type Tool, type ToolCall, tool } from '../tool.ts';
import { conditionsOf } from '../untrusted.ts';

const maxEvents = 15;

export const describeTool = (kinds: Kinds, reads: ClusterReads): Tool =>
  tool({
    name: 'describe',
    title: 'Describe an object',
    description:
      'Tells the state of an object, and why it is broken: reasons of its containers, conditions and latest events. Call logs with previous for a container that crashed.',
    isReadOnly: true,
    input: z.strictObject({
      ...objectInput,
    }),
    async run({ resource: text, namespace: of, name: called }, call) {
      const kind = await kinds.get(text, call);
      const object = await reads.get(kind, { namespace: of, name: called }, call);
      const { word, reason, figure } = objectState(object);
      const events = await eventsOf(reads, object, call);
      const hidden = events === undefined ? ' The user may not list its events.' : '';
      return {
        note: `The state of the object, its conditions and its latest events.${hidden}`,
        data: {
          kind: object.kind,
          apiVersion: object.apiVersion,
          metadata: shownMetadata(object),
          state: { word, ...(reason !== '' && { reason }), ...(figure !== '' && { figure }) },
          ...(object.kind === 'Pod' && podParts(object)),
          conditions: conditionsOf(object),
          ...(events && { events }),
        },
      };
    },
  });

function shownMetadata({ metadata }: Members) {
  const { name: called, namespace: of, creationTimestamp, deletionTimestamp, labels, ownerReferences } = membersOf(metadata);
  const owners = Array.isArray(ownerReferences)
    ? ownerReferences.map(membersOf).map((owner) => `${textOf(owner.kind)}/${textOf(owner.name)}`)
    : [];
  return { name: called, namespace: of, creationTimestamp, deletionTimestamp, labels, ...(owners.length > 0 && { owners }) };
}

/** Returns what is wrong with a pod, as its page in the console says it, and its containers. */
function podParts({ metadata, spec, status }: Members) {
  const annotations = Object.entries(membersOf(membersOf(metadata).annotations)).map(([key, value]) => [key, textOf(value)] as const);
  const pod = { metadata: { annotations: Object.fromEntries(annotations) }, spec: membersOf(spec), status: membersOf(status) };
  const containers = containersOf(pod).map((container) => ({
    name: container.spec.name,
    kind: container.kind,
    image: container.spec.image,
    state: containerWord(container),
    ready: container.status?.ready,
    restarts: container.status?.restartCount,
    ...(isMembers(container.spec.resources) && { resources: container.spec.resources }),
  }));
  return { troubles: troublesOf(pod), containers };
}

/** Returns the events of an object; undefined for a user who may not list them. */
async function eventsOf(reads: ClusterReads, object: Members, call: ToolCall) {
  const { uid, namespace: of } = membersOf(object.metadata);
  const query = { namespace: textOf(of) || undefined, fields: { 'involvedObject.uid': textOf(uid) }, limit: maxEvents };
  try {
    return (await readClusterEvents(reads, query, call)).items.map(({ object: _object, namespace: _namespace, ...event }) => event);
  } catch (error) {
    if (error instanceof StatusError && error.status.code === 403) return undefined;
    throw error;
  }
}

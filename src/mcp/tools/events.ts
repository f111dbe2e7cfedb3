import { z } from 'zod';
import type { ClusterReads } from '../cluster.ts';
import { readClusterEvents } from '../cluster-events.ts';
import { limitOf, name, namespace } from '../inputs.ts';
import { type Tool, tool } from '../tool.ts';

export const eventsTool = (reads: ClusterReads): Tool =>
  tool({
    name: 'events',
    title: 'List events',
    description: 'Lists Kubernetes Events, newest first: failed mounts, probes, pulls and schedules. The activity tool has who did what.',
    isReadOnly: true,
    input: z.strictObject({
      namespace: namespace.optional().describe('Namespace. Default: all, for users who may list events of the cluster.'),
      kind: z
        .string()
        .max(63)
        .regex(/^[A-Za-z]+$/, 'must be a kind such as Pod')
        .optional()
        .describe('Kind of the object, such as `Pod`.'),
      name: name.optional().describe('Name of the object.'),
      type: z.enum(['Normal', 'Warning']).optional().describe('Type of the events.'),
      limit: limitOf(200, 50),
    }),
    async run({ namespace: of, kind, name: called, type, limit }, call) {
      call.about({ apiGroup: '', resource: 'events', namespace: of });
      const fields = {
        ...(kind !== undefined && { 'involvedObject.kind': kind }),
        ...(called !== undefined && { 'involvedObject.name': called }),
        ...(type !== undefined && { type }),
      };
      const { items, isCut, isWhole } = await readClusterEvents(reads, { namespace: of, fields, limit }, call);
      const more = isCut ? 'There are more: name a namespace, an object or a type.' : 'There are no more.';
      const order = isWhole ? '' : ' The cluster has too many events to find the newest of all.';
      return { note: `${items.length} events. ${more}${order}`, data: { items } };
    },
  });

import { z } from 'zod';
import type { ListAudit } from '../../activity/activity.ts';
import { auditQuery } from '../../activity/schema.ts';
import { cursor, limitOf, namespace } from '../inputs.ts';
import { type Tool, tool } from '../tool.ts';

const { actor, verb, resource, name, text, outcome, from, to } = auditQuery.shape;

/** @param list undefined for an installation that keeps no events */
export const activityTool = (list: ListAudit): Tool =>
  tool({
    name: 'activity',
    title: 'List who did what',
    description: 'Lists changes, connections, logins and decisions from the audit, newest first. Users who are no auditors see their own.',
    isReadOnly: true,
    input: z.strictObject({
      ...{ actor, verb, resource, name, text, outcome, from, to },
      namespace: namespace.optional(),
      limit: limitOf(100, 30),
      cursor,
    }),
    async run({ cursor: place, ...asked }, call) {
      const { items, scope, metadata } = await list(call, { ...asked, continue: place });
      const more = metadata.continue === undefined ? 'There are no more.' : 'There are more: call activity again with cursor.';
      const own = scope === 'Own' ? ' These are the events of the user alone, who is no auditor.' : '';
      return {
        note: `${items.length} events, newest first. ${more}${own}`,
        data: {
          scope,
          items: items.map(({ requestReceivedTimestamp, user, objectRef, responseStatus, event, action, agent, ...one }) => ({
            time: requestReceivedTimestamp,
            user: user?.username,
            event,
            verb: one.verb,
            action,
            object: objectRef,
            outcome: one.outcome,
            code: responseStatus?.code,
            reason: one.reason,
            changes: one.changes,
            access: one.access,
            agent,
          })),
          ...(metadata.continue !== undefined && { cursor: metadata.continue }),
        },
      };
    },
  });

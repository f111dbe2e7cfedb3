import { randomUUID } from 'node:crypto';
import type { AuditEvent } from '@atrium/audit-store/event.ts';
import { actorOf } from '@atrium/http/caller.ts';
import type { Operation } from '@atrium/http/operation.ts';
import { sentWrites } from '@atrium/http/sent-writes.ts';
import { localCluster } from '@atrium/objects/object-schemas.ts';
import { auditOrigin, writeVerbs } from './audit.ts';
import type { AuditIntake } from './audit-intake.ts';
import { storedUser } from './stored-event.ts';

type OperationRequest = Parameters<Operation['handle']>[0];

/**
 * Tags of operations that announce nothing: reviews change nothing, and requests that are passed on announce themselves or have no event.
 * Logins and ends of sessions go on while no event can be kept: administrators need the one to mend it, and users the other to be safe.
 */
const unannouncedTags = ['access', 'kubernetes', 'login', 'plugins', 'sessions'];
const unannounced = ['Authorize', 'CreateTokenReview'];

const isAnnounced = ({ id, method, tag }: Operation): boolean =>
  writeVerbs[method] !== undefined && !unannouncedTags.includes(tag) && !unannounced.includes(id);

/** Returns operations whose writes are announced to the audit store before they are made. */
export const announced = (operations: readonly Operation[], intake: AuditIntake | undefined, now: () => Date): readonly Operation[] =>
  intake === undefined
    ? operations
    : operations.map((operation) => {
        if (!isAnnounced(operation)) return operation;
        return {
          ...operation,
          async handle(request) {
            const intent = intentOf(operation, request, now());
            await intake.begin(intent);
            const { lifetime, flow } = request.ctx.state;
            // The events of the write are recorded by then.
            lifetime.onClose(() => {
              const isLost = sentWrites.get(flow)?.some(({ end, isDryRun }) => end === 'lost' && !isDryRun);
              if (isLost) intake.record(intent);
              else intake.end(intent.auditID);
            });
            await operation.handle(request);
          },
        };
      });

/** Returns the event of a write whose end nobody has seen: its process was killed, or the answer of the API server was lost. */
function intentOf({ id, method, paths }: Operation, { ctx, caller, params }: OperationRequest, time: Date): AuditEvent {
  const { requestId, source, userAgent } = auditOrigin(ctx);
  const { resource, subresource } = kindOf(paths[0]);
  const given = params as Readonly<Record<string, unknown>>;
  const name = given.name ?? given.id;
  const actor = caller !== undefined && 'identity' in caller ? actorOf(caller) : undefined;
  return {
    auditID: randomUUID(),
    ...{ cluster: localCluster, source: 'service', event: id, verb: writeVerbs[method] ?? '' },
    ...(actor && { user: storedUser(actor.identity) }),
    sourceIPs: [source],
    userAgent,
    objectRef: {
      ...{ apiGroup: 'auth.platform.io', resource },
      ...(subresource && { subresource }),
      ...(typeof name === 'string' && { name }),
    },
    requestReceivedTimestamp: time.toISOString(),
    outcome: 'unknown',
    requestID: requestId,
    ...(ctx.state.trace && { traceID: ctx.state.trace.id }),
    ...(actor?.session !== undefined && { session: actor.session }),
    ...(actor?.accessToken !== undefined && { accessToken: actor.accessToken }),
  };
}

/** Returns what a path is about: the segment before a name, such as `recordings` in `/auth/v1/audit/recordings/:id`, and the one after it. */
function kindOf(path: string): { resource: string; subresource: string | undefined } {
  const segments = path.split('/').slice(3);
  const name = segments.findIndex((segment) => segment.startsWith(':'));
  const at = name === -1 ? 0 : name - 1;
  return { resource: segments[at] ?? '', subresource: segments[at + 2] };
}

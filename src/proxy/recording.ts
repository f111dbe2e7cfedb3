import { randomUUID } from 'node:crypto';
import type { AuditEvent } from '@atrium/audit-store/event.ts';
import { actorOf, type Caller } from '@atrium/http/caller.ts';
import { receivedCode } from '@atrium/http/middleware/request-state.ts';
import type { Context } from 'koa';
import { z } from 'zod';
import { auditOrigin } from '../audit/audit.ts';
import type { AuditIntake } from '../audit/audit-intake.ts';
import { isRead } from './rules.ts';
import { isTrue, requestedAccess, type Target } from './target.ts';

/** Members of answers that an event tells. */
const answered = z.object({
  metadata: z.object({ name: z.string().optional() }).optional(),
  spec: z.object({ replicas: z.int().optional() }).optional(),
});

interface Recorder {
  auditIntake: AuditIntake;
  now: () => Date;
}

/** The audit event of a request that writes, connects, or reads Secrets, handed on once the answer is out. */
export class Recording {
  readonly #target: Target;
  #code: number | undefined;
  #replicasBefore: number | undefined;
  #facts: Pick<AuditEvent, 'changes'> & { name?: string | undefined } = {};

  private constructor(target: Target) {
    this.#target = target;
  }

  /** Returns undefined for requests without an event. */
  static begin(ctx: Context, caller: Caller, target: Target, { auditIntake, now }: Recorder): Recording | undefined {
    const { resource } = target;
    const access = requestedAccess(ctx.method, target);
    if (resource === undefined || access === undefined || !isRecorded(ctx.method, target)) return undefined;
    const recording = new Recording(target);
    const at = now();
    const { requestId, source, userAgent } = auditOrigin(ctx);
    const { identity, session, accessToken } = actorOf(caller);
    ctx.state.lifetime.onClose(() => {
      const { name = resource.name, changes } = recording.#facts;
      const code = recording.#code ?? receivedCode(ctx);
      auditIntake.record({
        auditID: randomUUID(),
        cluster: 'local',
        source: 'door',
        verb: access.verb,
        user: { username: identity.name, ...(identity.uid && { uid: identity.uid }) },
        ...(caller.viewing && { impersonatedUser: { username: caller.viewing.target.name } }),
        sourceIPs: [source],
        userAgent,
        objectRef: {
          apiGroup: resource.group,
          resource: resource.resource,
          ...(resource.subresource && { subresource: resource.subresource }),
          ...(resource.namespace && { namespace: resource.namespace }),
          ...(name && { name }),
        },
        requestReceivedTimestamp: at.toISOString(),
        milliseconds: Math.round(performance.now() - ctx.state.startedAt),
        outcome: code < 400 ? 'success' : 'failure',
        responseStatus: { code },
        ...(isTrue(target.search, 'dryRun') && { dryRun: true }),
        requestID: requestId,
        ...(ctx.state.trace && { traceID: ctx.state.trace.id }),
        ...(session !== undefined && { session }),
        ...(accessToken !== undefined && { accessToken }),
        ...(changes && { changes }),
      });
    });
    return recording;
  }

  /** Reports whether the request sets a number of replicas. */
  get isScale(): boolean {
    return this.#target.resource?.subresource === 'scale';
  }

  /** Reports whether the answer has facts for the event. */
  get readsAnswer(): boolean {
    return this.#target.resource?.name === '' || this.isScale;
  }

  /** Takes the answer to a read before the write. */
  sawBefore(code: number, content: unknown): void {
    this.#replicasBefore = factsIn(code, content).spec?.replicas;
  }

  /** Takes the status of the API server, and the facts of a short answer. */
  saw(code: number, content: unknown): void {
    this.#code = code;
    if (!this.readsAnswer) return;
    const { metadata, spec } = factsIn(code, content);
    const [from, to] = [this.#replicasBefore, spec?.replicas];
    if (!this.isScale) this.#facts = { name: metadata?.name };
    else if (to !== undefined) this.#facts = { changes: [{ field: 'spec.replicas', ...(from !== undefined && { from }), to }] };
  }
}

function isRecorded(method: string, target: Target): boolean {
  const { group, resource } = target.resource ?? {};
  return !isRead(method, target) || (group === '' && resource === 'secrets');
}

/** Returns what a short answer in JSON tells; nothing for a refusal and for other answers. */
function factsIn(code: number, content: unknown): z.output<typeof answered> {
  if (code >= 300 || !Buffer.isBuffer(content)) return {};
  try {
    return answered.parse(JSON.parse(content.toString()));
  } catch {
    return {};
  }
}

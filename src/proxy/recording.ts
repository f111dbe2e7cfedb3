import { randomUUID } from 'node:crypto';
import type { AuditEvent } from '@atrium/audit-store/event.ts';
import { actorOf, type Caller } from '@atrium/http/caller.ts';
import { receivedCode } from '@atrium/http/middleware/request-state.ts';
import { isTrue, requestedAccess, type Target, type TargetResource } from '@atrium/kubernetes/request-target.ts';
import type { Context } from 'koa';
import { z } from 'zod';
import { auditOrigin } from '../audit/audit.ts';
import type { AuditIntake } from '../audit/audit-intake.ts';
import { storedUser } from '../audit/stored-event.ts';
import { isRead } from './rules.ts';

/** Members of answers that an event tells. */
const named = z.object({ metadata: z.object({ name: z.string() }) });
/** A Scale without a number has none: the API server leaves 0 out. */
const scaled = z.object({ spec: z.object({ replicas: z.int().default(0) }) });

interface Recorder {
  auditIntake: AuditIntake;
  now: () => Date;
}

/** Verb and object of a request. */
type About = { verb: string } & TargetResource;

/** Bytes of a connection in both directions. */
interface Carried {
  bytesSent: number;
  bytesReceived: number;
}

/** The audit events of a request that writes, connects, or reads Secrets, handed on once the answer is out. */
export class Recording {
  readonly #target: Target;
  readonly #intake: AuditIntake;
  /** Members that are the same at the begin and the end of a connection. */
  #common: Omit<AuditEvent, 'auditID' | 'outcome' | 'requestReceivedTimestamp'>;
  readonly #id = randomUUID();
  readonly #now: () => Date;
  readonly #at: Date;
  readonly #startedAt: number;
  /** True if no event of the answer follows: its connection has begun, or it was refused for want of room. */
  #isOver = false;
  #code: number | undefined;
  #replicasBefore: number | undefined;
  #facts: Pick<AuditEvent, 'changes'> & { name?: string | undefined } = {};

  private constructor(ctx: Context, caller: Caller, target: Target, about: About, { auditIntake, now }: Recorder) {
    const { requestId, source, userAgent } = auditOrigin(ctx);
    const { identity, session, accessToken } = actorOf(caller);
    const { verb, group, resource, subresource, namespace, name } = about;
    const connection = connectionOf(target);
    this.#target = target;
    this.#intake = auditIntake;
    this.#now = now;
    this.#at = now();
    this.#startedAt = ctx.state.startedAt;
    this.#common = {
      cluster: 'local',
      source: 'door',
      verb,
      user: storedUser(identity),
      ...(caller.viewing && { impersonatedUser: { username: caller.viewing.target.name } }),
      sourceIPs: [source],
      userAgent,
      objectRef: { apiGroup: group, resource, ...(subresource && { subresource }), ...(namespace && { namespace }), ...(name && { name }) },
      ...(connection && { connection }),
      ...(isTrue(target.search, 'dryRun') && { dryRun: true }),
      requestID: requestId,
      ...(ctx.state.trace && { traceID: ctx.state.trace.id }),
      ...(session !== undefined && { session }),
      ...(accessToken !== undefined && { accessToken }),
    };
  }

  /** Returns undefined for requests without an event. */
  static begin(ctx: Context, caller: Caller, target: Target, recorder: Recorder): Recording | undefined {
    const access = requestedAccess(ctx.method, target);
    if (target.resource === undefined || access === undefined || !isRecorded(ctx.method, target)) return undefined;
    const recording = new Recording(ctx, caller, target, { ...target.resource, verb: access.verb }, recorder);
    ctx.state.lifetime.onClose(() => recording.#record(recording.#code ?? receivedCode(ctx)));
    return recording;
  }

  /** Announces the event before the request is passed on. @throws StatusError 503 if events are required and none can be kept */
  async announce(): Promise<void> {
    const at = { requestReceivedTimestamp: this.#at.toISOString() };
    try {
      await this.#intake.begin({ ...this.#common, ...at, auditID: this.#id, outcome: 'unknown' });
    } catch (error) {
      this.#isOver = true;
      throw error;
    }
  }

  #record(code: number): void {
    if (this.#isOver) return;
    const { name, changes } = this.#facts;
    const { objectRef } = this.#common;
    this.#intake.record({
      ...this.#common,
      auditID: this.#id,
      objectRef: { ...objectRef, ...(name && { name }) },
      ...(code === 101 && { stage: 'ResponseStarted' }),
      requestReceivedTimestamp: this.#at.toISOString(),
      milliseconds: Math.round(performance.now() - this.#startedAt),
      outcome: code < 400 ? 'success' : 'failure',
      responseStatus: { code },
      ...(changes && { changes }),
    });
  }

  /** Names the recording of the shell. */
  recordedAs(id: string): void {
    this.#common = { ...this.#common, connection: { ...this.#common.connection, recording: id } };
  }

  /** Records the begin of a connection. */
  switched(): void {
    this.#record(101);
    this.#isOver = true;
  }

  /** Records the end of a connection. @param reason set if the service has ended it */
  ended({ bytesSent, bytesReceived }: Carried, reason?: string): void {
    this.#intake.record({
      ...this.#common,
      auditID: randomUUID(),
      stage: 'ResponseComplete',
      connection: { ...this.#common.connection, bytesSent, bytesReceived },
      requestReceivedTimestamp: this.#now().toISOString(),
      milliseconds: Math.round(performance.now() - this.#startedAt),
      outcome: reason === undefined ? 'success' : 'failure',
      ...(reason !== undefined && { reason }),
    });
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
    this.#replicasBefore = factsIn(scaled, code, content)?.spec.replicas;
  }

  /** Takes the status of the API server, and the facts of a short answer. */
  saw(code: number, content: unknown): void {
    this.#code = code;
    if (!this.readsAnswer) return;
    if (!this.isScale) {
      this.#facts = { name: factsIn(named, code, content)?.metadata.name };
      return;
    }
    const [from, to] = [this.#replicasBefore, factsIn(scaled, code, content)?.spec.replicas];
    if (to !== undefined) this.#facts = { changes: [{ field: 'spec.replicas', ...(from !== undefined && { from }), to }] };
  }
}

function isRecorded(method: string, target: Target): boolean {
  const { group, resource } = target.resource ?? {};
  return !isRead(method, target) || (group === '' && resource === 'secrets');
}

const [maxWords, maxWordLength] = [32, 256];
const connects = ['exec', 'attach', 'portforward'];

/** Returns the parameters of a connection to a container or port; undefined for other requests. */
export function connectionOf({ resource, search }: Target): AuditEvent['connection'] {
  if (!connects.includes(resource?.subresource ?? '')) return undefined;
  const query = new URLSearchParams(search);
  const container = query.get('container')?.slice(0, maxWordLength);
  const words = (name: string) => {
    const all = query.getAll(name).slice(0, maxWords);
    return all.length > 0 && { [name]: all.map((word) => word.slice(0, maxWordLength)) };
  };
  return { ...(container && { container }), ...words('command'), ...words('ports'), ...(isTrue(search, 'tty') && { tty: true }) };
}

/** Returns what a short answer in JSON tells; undefined for a refusal and for other answers. */
function factsIn<T>(schema: z.ZodType<T>, code: number, content: unknown): T | undefined {
  if (code >= 300 || !Buffer.isBuffer(content)) return undefined;
  try {
    return schema.parse(JSON.parse(content.toString()));
  } catch {
    return undefined;
  }
}

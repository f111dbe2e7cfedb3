import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import type { AuditEvent } from '@atrium/audit-store/event.ts';
import { actorOf, type Caller } from '@atrium/http/caller.ts';
import { receivedCode } from '@atrium/http/middleware/request-state.ts';
import { isDryRun, isEviction } from '@atrium/kubernetes/dry-run.ts';
import { connectionOf } from '@atrium/kubernetes/opened-connection.ts';
import type { PassedCall } from '@atrium/kubernetes/passage.ts';
import { placeOf, requestedAccess, type Target, type TargetResource } from '@atrium/kubernetes/request-target.ts';
import { isLostAnswer, timeoutCode } from '@atrium/kubernetes/transport.ts';
import { localCluster } from '@atrium/objects/object-schemas.ts';
import type { Context } from 'koa';
import { z } from 'zod';
import { auditOrigin } from '../audit/audit.ts';
import type { AuditIntake } from '../audit/audit-intake.ts';
import { type AuditRule, ruleFor } from '../audit/audit-policy.ts';
import { isKeptByDefault, maxBodyTextBytes } from '../audit/kept-content.ts';
import { storedUser } from '../audit/stored-event.ts';
import { grantAfter, grantBefore, isToldByAnswer, mayTell, type Told, toldBy } from '../audit/written-action.ts';
import type { Config } from '../config/schema.ts';
import type { Services } from '../services.ts';
import { AnsweredName } from './answered-name.ts';
import { KeptBody } from './kept-body.ts';
import { isRead } from './rules.ts';

/** Bound of a media type: no type of a patch is longer. */
const maxTypeLength = 64;

/** Code of a request whose caller left before the answer. */
const leftCode = 499;

/** Members of answers that an event tells. */
const named = z.object({ metadata: z.object({ name: z.string() }) });
/** A Scale without a number has none: the API server leaves 0 out. */
const scaled = z.object({ spec: z.object({ replicas: z.int().default(0) }) });

const readVerbs = ['get', 'list', 'watch'];

interface Recorder {
  auditIntake: AuditIntake;
  policy: Config['audit']['policy'];
  activeRequests: ActiveRequests | undefined;
  rbac: Services['rbac'];
  now: () => Date;
}

/** Access requests that give access now. */
export interface ActiveRequests {
  /** Returns the first ones that give a user access to a namespace. @param namespace '' for the cluster */
  namesFor(user: string, namespace: string): string[];
}

/** Verb and object of a request. */
type About = { verb: string } & TargetResource;

interface Decided {
  about: About;
  rule: AuditRule;
}

/** Bytes of a connection in both directions, and what a recording of it has. */
type Carried = Pick<NonNullable<AuditEvent['connection']>, 'bytesSent' | 'bytesReceived' | 'recorded'>;

/** Reasons for which the service has ended a connection. */
interface Ended {
  /** Reason of a failure: a shell that could not be recorded any more. */
  failure: string | undefined;
  reason: string | undefined;
}

/** The audit events of a request that writes, connects, or reads Secrets, handed on once the answer is out. */
export class Recording {
  readonly #target: Target;
  readonly #delivery: AuditRule['delivery'];
  readonly #body: KeptBody | undefined;
  /** Body of a deletion. */
  readonly #options: KeptBody | undefined;
  readonly #isBodyKept: boolean;
  /** Media type of the body. */
  readonly #mediaType: string;
  readonly #about: About;
  readonly #intake: AuditIntake;
  /** Members that are the same at the begin and the end of a connection. */
  #common: Omit<AuditEvent, 'auditID' | 'outcome' | 'requestReceivedTimestamp'>;
  /** Access by which the caller may have had the right. */
  readonly #right: Pick<AuditEvent, 'accessRequests'>;
  /** Role of a binding before the request. */
  readonly #grantBefore: AuditEvent['grant'];
  /** Id of the event. */
  readonly id = randomUUID();
  readonly #now: () => Date;
  readonly #at: Date;
  readonly #state: Context['state'];
  /** True if no event of the answer follows: its connection has begun, or it was refused for want of room. */
  #isOver = false;
  #code: number | undefined;
  /** True once the request is passed on. */
  #isPassed = false;
  /** True once the answer of the API server is lost. */
  #isLost = false;
  #answerBytes = 0;
  #replicasBefore: number | undefined;
  #facts: Pick<AuditEvent, 'changes'> & { name?: string | undefined } = {};
  /** Object that a write has made, where it tells what the body does not. */
  #made: unknown;

  private constructor(
    ctx: Context,
    caller: Caller,
    target: Target,
    { auditIntake, activeRequests, rbac, now, about, rule }: Recorder & Decided,
  ) {
    const { requestId, source, userAgent } = auditOrigin(ctx);
    const { identity, session, accessToken } = actorOf(caller);
    const { verb, group, resource, subresource, namespace, name } = about;
    const connection = subresource === '' ? undefined : connectionOf(subresource, target.search);
    // The API server decides about a view by the rights of its target.
    const accessRequests = activeRequests?.namesFor(caller.identity.name, placeOf(about)) ?? [];
    this.#right = accessRequests.length > 0 ? { accessRequests } : {};
    this.#grantBefore = grantBefore(about, rbac);
    this.#target = target;
    this.#delivery = rule.delivery;
    this.#about = about;
    this.#isBodyKept = rule.level !== 'Metadata';
    this.#mediaType = ctx.get('Content-Type').split(';', 1)[0]?.trim().toLowerCase() ?? '';
    this.#body = this.#isBodyKept || mayTell(about) || isEviction(about) ? KeptBody.of(ctx.method, about) : undefined;
    this.#options = KeptBody.ofOptions(ctx.method, about);
    this.#intake = auditIntake;
    this.#now = now;
    this.#at = now();
    this.#state = ctx.state;
    this.#common = {
      cluster: localCluster,
      source: 'door',
      verb,
      user: storedUser(identity),
      ...(caller.viewing && { impersonatedUser: { username: caller.viewing.target.name } }),
      sourceIPs: [source],
      userAgent,
      objectRef: { apiGroup: group, resource, ...(subresource && { subresource }), ...(namespace && { namespace }), ...(name && { name }) },
      ...(connection && { connection }),
      requestID: requestId,
      ...(ctx.state.trace && { traceID: ctx.state.trace.id }),
      ...(session !== undefined && { session }),
      ...(accessToken !== undefined && { accessToken }),
    };
  }

  /** Returns undefined for requests without an event. */
  static begin(ctx: Context, caller: Caller, target: Target, recorder: Recorder): Recording | undefined {
    const access = requestedAccess(ctx.method, target);
    if (target.resource === undefined || access === undefined) return undefined;
    // Like the API server's policy, that of the service takes a namespace as an object within itself.
    const about = { ...target.resource, namespace: placeOf(target.resource), verb: access.verb };
    const rule = ruleOf(ctx.method, caller, target, about, recorder.policy);
    if (rule.level === 'None') return undefined;
    const recording = new Recording(ctx, caller, target, { ...recorder, about, rule });
    ctx.state.lifetime.onClose(() => recording.#record(recording.#code ?? receivedCode(ctx)));
    return recording;
  }

  /** Announces the event before the request is passed on. @throws StatusError 503 if events are required and none can be kept */
  async announce(): Promise<void> {
    const at = { requestReceivedTimestamp: this.#at.toISOString() };
    const dryRun = isDryRun(this.#about, this.#target.search, null) ? { dryRun: true as const } : {};
    try {
      await this.#intake.begin(
        { ...this.#common, ...this.#right, ...at, ...dryRun, auditID: this.id, outcome: 'unknown' },
        {
          ...(this.#delivery && { isRequired: this.#delivery === 'required' }),
          bodyBytes: this.#body && this.#isBodyKept ? maxBodyTextBytes : 0,
        },
      );
    } catch (error) {
      this.#isOver = true;
      throw error;
    }
    this.#isPassed = true;
  }

  /** Returns the body to pass on, whose begin the event keeps where the policy says so. */
  reading(body: PassedCall['body']): PassedCall['body'] {
    const read = this.#body ?? this.#options;
    return body && (read?.reading(body) ?? body);
  }

  /** Returns the body of the answer, whose bytes the event tells. */
  counting(content: Readable | Buffer): Readable | Buffer {
    if (!Buffer.isBuffer(content)) return Readable.from(this.#counted(content), { objectMode: false });
    this.#answerBytes = content.length;
    return content;
  }

  async *#counted(stream: Readable): AsyncGenerator<Uint8Array> {
    const name = this.#isCreation && (this.#code ?? 0) < 300 ? new AnsweredName() : undefined;
    for await (const chunk of stream) {
      this.#answerBytes += chunk.length;
      name?.read(chunk);
      if (name?.found !== undefined) this.#facts = { name: name.found };
      yield chunk;
    }
  }

  #record(code: number): void {
    if (this.#isOver) return;
    const told = this.#told(code);
    const { name, changes = told.changes } = this.#facts;
    // A refused body changed nothing, and its sender may have no right to anything.
    const requestObject = code < 400 && this.#isBodyKept ? this.#body?.text : undefined;
    const { bodyBytes } = this.#state;
    const { objectRef } = this.#common;
    const namespace = placeOf({ ...this.#about, ...(name && { name }) });
    this.#intake.record({
      ...this.#common,
      ...(code !== 403 && this.#right),
      auditID: this.id,
      objectRef: { ...objectRef, ...(namespace && { namespace }), ...(name && { name }) },
      ...(code === 101 && { stage: 'ResponseStarted' }),
      requestReceivedTimestamp: this.#at.toISOString(),
      milliseconds: Math.round(performance.now() - this.#state.startedAt),
      ...(bodyBytes !== undefined && { requestBytes: bodyBytes }),
      ...(this.#answerBytes > 0 && { responseBytes: this.#answerBytes }),
      outcome: this.#outcome(code),
      responseStatus: { code },
      ...(this.#isDryRun && { dryRun: true }),
      ...(code < 300 && this.#grantBefore && { grant: grantAfter(this.#grantBefore, this.#mediaType, this.#body?.content) }),
      ...told,
      ...(changes && { changes }),
      ...(requestObject !== undefined && {
        requestObject,
        ...(this.#about.verb === 'patch' && { patchType: this.#mediaType.slice(0, maxTypeLength) }),
      }),
    });
  }

  /** Reports whether the write had no effect. Only the body of a deletion tells it, once it is read. */
  get #isDryRun(): boolean {
    const { content, isEmpty } = this.#options ?? this.#body ?? { content: undefined, isEmpty: true };
    return isDryRun(this.#about, this.#target.search, isEmpty ? undefined : (content ?? null));
  }

  /** Returns what the body of a write tells that had an effect, or would have had one. */
  #told(code: number): Told {
    if (code >= 300 || this.#body === undefined || !mayTell(this.#about)) return {};
    return toldBy(this.#about, this.#mediaType, this.#body.content ?? this.#made);
  }

  /** Returns the outcome of the request. Without an answer of the API server nobody knows what it has done. */
  #outcome(code: number): AuditEvent['outcome'] {
    const isUnanswered = this.#isLost || code === timeoutCode || (this.#code === undefined && code === leftCode);
    if (this.#isPassed && isUnanswered) return 'unknown';
    return code < 400 ? 'success' : 'failure';
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

  /** Records the end of a connection. */
  ended(carried: Carried, { failure, ...cut }: Ended): void {
    const reason = failure ?? cut.reason;
    this.#intake.record({
      ...this.#common,
      ...this.#right,
      auditID: randomUUID(),
      stage: 'ResponseComplete',
      connection: { ...this.#common.connection, ...carried },
      requestReceivedTimestamp: this.#now().toISOString(),
      milliseconds: Math.round(performance.now() - this.#state.startedAt),
      outcome: failure === undefined ? 'success' : 'failure',
      ...(reason !== undefined && { reason }),
    });
  }

  /** Reports whether the answer alone has the name of the object. */
  get #isCreation(): boolean {
    return this.#about.verb === 'create' && this.#about.name === '';
  }

  /** Reports whether the request sets a number of replicas. */
  get isScale(): boolean {
    return this.#target.resource?.subresource === 'scale';
  }

  /** Reports whether the answer has facts for the event. */
  get readsAnswer(): boolean {
    return this.#target.resource?.name === '' || this.isScale || isToldByAnswer(this.#about);
  }

  /** Returns headers for an answer that can be read: clients of Go prefer Protobuf, and a Table may have no name. All of them take JSON. */
  asking(headers: PassedCall['headers']): PassedCall['headers'] {
    if (!this.readsAnswer || readVerbs.includes(this.#about.verb)) return headers;
    const { 'accept-encoding': _compressed, ...others } = headers;
    return { ...others, accept: 'application/json' };
  }

  /** Takes the answer to a read before the write. */
  sawBefore(code: number, content: unknown): void {
    this.#replicasBefore = factsIn(scaled, code, content)?.spec.replicas;
  }

  /** Takes the failure of the call, or of its answer after the status. The status holds also if the rest is lost. */
  failed(error: unknown, code: number | undefined): void {
    this.#code = code;
    this.#isLost = code === undefined && isLostAnswer(error);
  }

  /** Takes the status of the API server, and the facts of a short answer. */
  saw(code: number, content: unknown): void {
    this.#code = code;
    if (!this.readsAnswer) return;
    if (!this.isScale) {
      this.#facts = { name: factsIn(named, code, content)?.metadata.name };
      if (isToldByAnswer(this.#about)) this.#made = factsIn(z.unknown(), code, content);
      return;
    }
    const [from, to] = [this.#replicasBefore, factsIn(scaled, code, content)?.spec.replicas];
    if (to !== undefined) this.#facts = { changes: [{ field: 'spec.replicas', ...(from !== undefined && { from }), to }] };
  }
}

/** Returns the rule of the policy, or the one that holds without a policy. */
function ruleOf(method: string, caller: Caller, target: Target, about: About, policy: Recorder['policy']): AuditRule {
  if (policy !== undefined) {
    const { name: user, groups } = actorOf(caller).identity;
    return ruleFor(policy, { ...about, user, groups });
  }
  if (!isRecorded(method, target)) return { level: 'None' };
  return { level: isKeptByDefault(about) ? 'Request' : 'Metadata' };
}

function isRecorded(method: string, target: Target): boolean {
  const { group, resource } = target.resource ?? {};
  return !isRead(method, target) || (group === '' && resource === 'secrets');
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

import type { Bearer, Caller, Viewing } from '@atrium/http/caller.ts';
import { printableLine } from '@atrium/http/telemetry/log.ts';
import type { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { currentTraceID } from '@atrium/http/telemetry/tracing.ts';
import type { DeniedAccess, StatusError } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import type { Logger } from 'pino';
import { type AuditField, type AuditName, auditEvents, type FieldOf, type WriteAuditName } from './audit-events.ts';
import type { Told } from './written-action.ts';

/** Origin of a request. */
export interface AuditOrigin {
  requestId: string;
  /** Address of the peer, or the one that a trusted proxy forwards for. */
  source: string;
  userAgent: string;
  /** Session of the caller, for the audit store. */
  inSession?: string;
  /** Id of the access token of the caller, for the audit store. */
  accessToken?: string;
  /** Groups of the caller, for the audit store. */
  groups?: readonly string[];
  /** Bytes of the body of the request, for the audit store. */
  bodyBytes?: number;
  /** Namespace of the object, for the audit store. */
  namespace?: string;
}

/** Body of a write, for the audit store. */
export interface WrittenBody {
  /** Returns the body as `keptText` has it. */
  body?(): string | undefined;
  /** Reports whether the body may have a credential, whose length would be a help to guess it. */
  hasCredential?(): boolean;
  /** Media type of a patch. */
  patchType?: string;
}

/** No member may be a secret, or come from a field in which users type one by mistake, such as an unknown login name. */
interface AuditFields {
  /** User name in Kubernetes. */
  actor: { name: string; uid: string };
  /** User record, group, binding or access request that the event is about. */
  target: { name: string; uid: string };
  /** HTTP status of the answer. */
  code: number;
  /** Reason in UpperCamelCase. */
  reason: string;
  /** Id of the issuer of a callback; `unknown` if its login was not begun here. */
  issuer: string;
  /** Target of a KubernetesSession without its query, and at its end the bytes in both directions. */
  session: { path: string; bytesSent?: number; bytesReceived?: number };
  /** Members that were added or removed: their number, and the first names. */
  members: MemberChange;
  /** Binding of a review, as `Kind/namespace/name`. */
  binding: string;
  /** Role that a new UserBinding gives. */
  grant: AuditGrant;
  /** Conditions of a question about the audit, as a query. */
  question: string;
  /** Call of a tool by the program that acts for the caller. */
  agent: AgentCall;
  /** Shell of a recording. */
  shell: { user: string; pod: string };
  /** Subject of a workload at its issuer. */
  workload: string;
  /** Write to an object of the cluster that the service has made as the user. */
  write: AuditedWrite;
  /** Right that a write lacks. */
  denied: DeniedAccess;
  /** Access that an AccessRequest is about. */
  access: { requester: string; policy: string; role: string; namespaces?: readonly string[]; until?: string };
}

interface AuditedWrite extends Told {
  verb: string;
  apiGroup: string;
  resource: string;
  namespace?: string;
  name: string;
}

interface AgentCall {
  client: string;
  name: string;
  host: string;
  tool?: string;
  objects: readonly { apiGroup: string; resource: string; namespace?: string | undefined; name?: string | undefined }[];
}

export type AuditEvent = Partial<AuditOrigin & AuditFields> & WrittenBody & { audit: AuditName; outcome: 'success' | 'failure' };

/** Event with the fields that `audit-events.ts` declares for its name, and no others. */
type DeclaredEvent<Name extends AuditName> = AuditEvent & { audit: Name } & { [Field in Exclude<AuditField, FieldOf<Name>>]?: never };

type WriteField = 'target' | 'reason' | 'members' | 'access' | 'binding' | 'grant' | 'shell';

/** A write by a caller, with the fields that its name allows. The request has the others. */
type WriteEvent<Name extends WriteAuditName> = { audit: Name; code: number } & WrittenBody &
  Partial<Pick<AuditFields, WriteField>> & {
    [Field in Exclude<WriteField, FieldOf<Name>>]?: never;
  };

/** Role as `Kind/name`, and the first subjects and namespaces. */
export interface AuditGrant {
  role: string;
  subjects: readonly string[];
  namespaces?: readonly string[];
  until?: string;
}

interface MemberChange {
  added: number;
  removed: number;
  names: readonly string[];
}

export interface Occasion {
  time: Date;
  traceID: string | undefined;
}

interface AuditOptions {
  /** Takes one line with its line break, e.g. to stdout. */
  write(line: string): unknown;
  /** Counts the events. */
  onEvent?: ((event: AuditEvent) => void) | undefined;
  /** Receives the events about users. */
  events?: { send(event: AuditEvent): void } | undefined;
  /** Takes the events for the audit store. Never throws. */
  keep?: ((event: AuditEvent, occasion: Occasion) => void) | undefined;
  log: Logger;
  now: () => Date;
}

const maxLength = 512;

/** The audit trail: one JSON line per event. */
export class Audit {
  readonly #options: AuditOptions;

  constructor(options: AuditOptions) {
    this.#options = options;
  }

  /** Never throws: an event that is lost fails nothing. */
  record<Name extends AuditName>(event: DeclaredEvent<Name>): void {
    this.#write(event);
  }

  /** Records a write by the caller that took effect, with the origin of the request. Never throws. */
  recordWrite<Name extends WriteAuditName>(ctx: Context, caller: AuditedCaller, event: WriteEvent<Name>): void {
    const { target }: Partial<AuditFields> = event;
    const named = target && { target: { name: target.name, uid: target.uid } };
    this.#write({ ...auditCaller(ctx, caller), outcome: 'success', ...event, ...named });
  }

  #write(event: AuditEvent): void {
    const { write, onEvent, events, keep, log, now } = this.#options;
    const {
      audit,
      requestId,
      actor,
      source,
      userAgent,
      target,
      outcome,
      code,
      reason,
      issuer,
      session,
      members,
      access,
      binding,
      grant,
      question,
      agent,
      shell,
      workload,
      write: written,
      denied,
    } = event;
    const time = now();
    const traceID = currentTraceID();
    const line = {
      audit,
      time: `${time.toISOString().split('.')[0]}Z`,
      requestId,
      traceId: traceID,
      actor,
      source,
      userAgent,
      target: target?.name,
      outcome,
      code,
      reason,
      issuer,
      session,
      members,
      access,
      binding,
      grant,
      question,
      agent,
      shell,
      workload,
      write: written,
      denied,
    };
    onEvent?.(event);
    keep?.(event, { time, traceID });
    try {
      const text = JSON.stringify(line, (_key, value) => (typeof value === 'string' ? value.slice(0, maxLength) : value));
      write(`${printableLine(text)}\n`);
      if (target !== undefined && 'isEvent' in auditEvents[audit]) events?.send(event);
    } catch (error) {
      log.warn({ audit, err: error }, 'audit event could not be written');
    }
  }
}

type Actor = AuditFields['actor'];

/** Caller, or a person who has just logged in. */
type AuditedCaller = { identity: Actor & { groups?: readonly string[] } } & Pick<Bearer, 'session' | 'accessToken'>;

/** Caller and origin of a request. */
export const auditCaller = (
  ctx: Context,
  { identity: { name, uid, groups }, session, accessToken }: AuditedCaller,
): AuditOrigin & { actor: Actor } => ({
  ...auditOrigin(ctx),
  actor: { name, uid },
  ...(session !== undefined && { inSession: session }),
  ...(accessToken !== undefined && { accessToken }),
  ...(groups && { groups }),
});

/** Returns the origin of the request. */
export function auditOrigin(ctx: Context): AuditOrigin {
  const { requestId, source, bodyBytes } = ctx.state;
  return { requestId, source, userAgent: ctx.get('User-Agent').slice(0, 256), ...(bodyBytes !== undefined && { bodyBytes }) };
}

interface CountedIssuer {
  readonly id: string;
  readonly isEmbedded: boolean;
}

/** Returns a function that counts logins, renewals and lock-outs by their audit events. */
export function loginCounter(metrics: Metrics, issuers: readonly CountedIssuer[]): (event: AuditEvent) => void {
  const embedded = issuers.find(({ isEmbedded }) => isEmbedded)?.id ?? 'local';
  const logins = metrics.counter({
    name: 'atrium_logins_total',
    help: 'Logins by issuer (its id in the configuration, or unknown) and outcome (success or failure).',
    labelNames: ['issuer', 'outcome'],
  });
  const renewals = metrics.counter({
    name: 'atrium_token_renewals_total',
    help: 'Renewals of the tokens of a login, by outcome (success or failure).',
    labelNames: ['outcome'],
  });
  const lockouts = metrics.counter({ name: 'atrium_user_lockouts_total', help: 'Users locked after too many failed attempts.' });
  // The counters begin at 0, so that `increase()` sees the first login.
  for (const outcome of ['success', 'failure']) {
    for (const { id } of issuers) logins.inc({ issuer: id, outcome }, 0);
    renewals.inc({ outcome }, 0);
  }
  return ({ audit, outcome, issuer = embedded }) => {
    if (audit === 'LoginSucceeded' || audit === 'LoginFailed' || audit === 'FactorFailed') logins.inc({ issuer, outcome });
    else if (audit === 'TokenRefreshed' || audit === 'RefreshFailed') renewals.inc({ outcome });
    else if (audit === 'UserLocked') lockouts.inc();
  };
}

/** Refusals of the service itself. The API server records its own refusals in its audit log. */
const decidedHere = /^\/(auth|debug|api\/(proxy|kubernetes))\//;

/** Requests that are passed on. A write has an event of its own. */
const isPassedOn = /^\/api\/(proxy|kubernetes)\//;

/** Verbs of writes by their methods. */
export const writeVerbs: Readonly<Record<string, string>> = { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' };

/** Refusals that have an event. */
const recorded = new WeakSet<Error>();

/** Marks a refusal that has an event of its own. */
export const markRecorded = (error: Error): void => void recorded.add(error);

/** Records the refusal of a caller, once. */
export const auditForbidden =
  (audit: Audit) =>
  (ctx: Context, caller: Caller, error: StatusError): void => {
    if (recorded.has(error)) return;
    markRecorded(error);
    if (caller.viewing) auditView(audit, ctx, caller.viewing, { code: error.status.code, reason: reasonOf(error) });
    else if (decidedHere.test(ctx.path)) auditDenial(audit, ctx, caller, error);
  };

/** The target has no uid here, so no Event is written on the User. */
function auditDenial(audit: Audit, ctx: Context, caller: Caller, error: StatusError): void {
  const { code, details } = error.status;
  const verb = isPassedOn.test(ctx.path) ? undefined : writeVerbs[ctx.method];
  const denied = verb && deniedBy(error, verb);
  const isAboutUser = details?.kind === 'users' && details.group === 'auth.platform.io' && details.name !== undefined;
  audit.record({
    ...auditCaller(ctx, caller),
    audit: 'AccessDenied',
    ...(isAboutUser && { target: { name: details.name ?? '', uid: '' } }),
    outcome: 'failure',
    code,
    reason: reasonOf(error),
    ...(denied && { denied }),
  });
}

/** Returns the right that a refusal names. Refusals of the API server do not have the verb, which is that of the request then. */
function deniedBy({ denied, status: { details } }: StatusError, requested: string): DeniedAccess | undefined {
  if (denied === undefined && details?.kind === undefined) return undefined;
  const { verb, group, resource, subresource, namespace, name }: DeniedAccess = denied ?? {
    ...{ verb: requested, group: details?.group ?? '', resource: details?.kind ?? '', name: details?.name },
  };
  return { verb, group, resource, ...(subresource && { subresource }), ...(namespace && { namespace }), ...(name && { name }) };
}

export const reasonOf = ({ status: { details, reason = 'Forbidden' } }: StatusError): string => details?.causes?.[0]?.reason ?? reason;

interface ViewOutcome {
  code: number;
  /** `Read`, `Write`, or the reason of the refusal. */
  reason: string;
}

/** Records a view with both users. A code of 400 or more records a refusal. */
export function auditView(audit: Audit, ctx: Context, { by, target: { name, uid } }: Viewing, { code, reason }: ViewOutcome): void {
  const event = { ...auditCaller(ctx, by), target: { name, uid }, code, reason };
  if (code >= 400) audit.record({ ...event, audit: 'ViewAsRefused', outcome: 'failure' });
  else audit.record({ ...event, audit: 'ViewedAs', outcome: 'success' });
}

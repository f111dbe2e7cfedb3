import type { Context } from 'koa';
import type { Logger } from 'pino';
import { stateOf } from './request-state.ts';

/** The closed set of audit events (docs/contract/service.md). */
type AuditName =
  | 'LoginSucceeded'
  | 'LoginFailed'
  | 'TokenRefreshed'
  | 'RefreshFailed'
  | 'LoggedOut'
  | 'UserCreated'
  | 'UserPatched'
  | 'PasswordChanged'
  | 'PasswordReset'
  | 'PasswordCheckFailed'
  | 'UserLocked'
  | 'FactorAdded'
  | 'FactorRemoved'
  | 'FactorFailed'
  | 'FactorSuspected'
  | 'FactorsReset'
  | 'RecoveryCodeUsed'
  | 'LinkMade'
  | 'LinkMailed'
  | 'LinkUsed'
  | 'LinksEnded'
  | 'SubjectLinked'
  | 'SubjectUnlinked'
  | 'UserDeleted'
  | 'UserSubjectsDeleted'
  | 'UsersSynced'
  | 'CertificateIssued'
  | 'AccessTokenCreated'
  | 'AccessTokenDeleted'
  | 'GroupCreated'
  | 'GroupPatched'
  | 'GroupDeleted'
  | 'GroupMembersChanged'
  | 'UserBindingCreated'
  | 'UserBindingDeleted'
  | 'SessionDeleted'
  | 'KubernetesSession'
  | 'AccessDenied';

/** Origin of a request. */
export interface AuditOrigin {
  requestId: string;
  /** Address of the peer, or the one that a trusted proxy forwards for. */
  source: string;
  userAgent: string;
}

/** No member may be a secret, or come from a field in which users type one by mistake, such as an unknown login name. */
export interface AuditEvent extends Partial<AuditOrigin> {
  audit: AuditName;
  /** User name in Kubernetes. */
  actor?: { name: string; uid: string };
  /** User record that the event is about, or object of the named kind. */
  target?: { name: string; uid: string; kind?: 'Group' | 'UserBinding' };
  outcome: 'success' | 'failure';
  /** HTTP status of the answer. */
  code?: number;
  /** Reason in UpperCamelCase. */
  reason?: string;
  /** Target of a KubernetesSession without its query, and at its end the bytes in both directions. */
  session?: { path: string; bytesSent?: number; bytesReceived?: number };
  /** Members that were added or removed: their number, and the first names. */
  members?: MemberChange;
}

interface MemberChange {
  added: number;
  removed: number;
  names: readonly string[];
}

export interface AuditOptions {
  /** Takes one line with its line break, e.g. to stdout. */
  write(line: string): unknown;
  /** Receives the events about users. */
  events?: { send(event: AuditEvent): void } | undefined;
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
  record(event: AuditEvent): void {
    const { write, events, log, now } = this.#options;
    const { audit, requestId, actor, source, userAgent, target, outcome, code, reason, session, members } = event;
    const time = now()
      .toISOString()
      .replace(/\.\d+Z$/, 'Z');
    const line = { audit, time, requestId, actor, source, userAgent, target: target?.name, outcome, code, reason, session, members };
    try {
      write(`${JSON.stringify(line, (_key, value) => (typeof value === 'string' ? value.slice(0, maxLength) : value))}\n`);
      if (target !== undefined && target.kind === undefined) events?.send(event);
    } catch (error) {
      log.warn({ audit, err: error }, 'an audit event was lost');
    }
  }
}

type Actor = Required<AuditEvent>['actor'];

/** Caller and origin of a request. */
export const auditCaller = (ctx: Context, { identity: { name, uid } }: { identity: Actor }): AuditOrigin & { actor: Actor } => ({
  ...auditOrigin(ctx),
  actor: { name, uid },
});

/** Returns the origin of the request. */
export function auditOrigin(ctx: Context): AuditOrigin {
  const { requestId, source } = stateOf(ctx);
  return { requestId, source, userAgent: ctx.get('User-Agent').slice(0, 256) };
}

import type { Context } from 'koa';
import type { Logger } from 'pino';
import { stateOf } from './request-state.ts';

/** What is recorded (docs/contract/service.md); there are no others. */
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

/** Where a request came from. */
export interface AuditOrigin {
  requestId: string;
  /** Peer address, or what a trusted proxy says it is. */
  source: string;
  userAgent: string;
}

/** Nothing in it may be a secret, nor come from a field in which people type one by mistake, such as an unknown login name. */
export interface AuditEvent extends Partial<AuditOrigin> {
  audit: AuditName;
  /** Who did it, as Kubernetes sees them. */
  actor?: { name: string; uid: string };
  /** Whom it happened to: a User record, or an object of that kind. */
  target?: { name: string; uid: string; kind?: 'Group' | 'UserBinding' };
  outcome: 'success' | 'failure';
  /** HTTP status of the answer. */
  code?: number;
  /** One word, in UpperCamelCase. */
  reason?: string;
  /** Of a KubernetesSession: where it goes, without its query, and at its end how much went through. */
  session?: { path: string; bytesSent?: number; bytesReceived?: number };
  /** Who came or went: how many, and the first of them. */
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
  /** Told of what happens to users. */
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

/** Who asks, and from where. */
export const auditCaller = (ctx: Context, { identity: { name, uid } }: { identity: Actor }): AuditOrigin & { actor: Actor } => ({
  ...auditOrigin(ctx),
  actor: { name, uid },
});

/** Of the request that is being answered. */
export function auditOrigin(ctx: Context): AuditOrigin {
  const { requestId, source } = stateOf(ctx);
  return { requestId, source, userAgent: ctx.get('User-Agent').slice(0, 256) };
}

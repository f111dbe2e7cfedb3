import type { Context } from 'koa';
import type { StatusError } from '../api/status.ts';
import { type Audit, auditCaller } from './audit.ts';
import type { Caller, Viewing } from './operation.ts';

/** Refusals of the service itself. The API server records its own refusals in its audit log. */
const decidedHere = /^\/(auth|debug|api\/(proxy|kubernetes))\//;

/** Records the refusal of a caller. */
export const auditForbidden =
  (audit: Audit) =>
  (ctx: Context, caller: Caller, error: StatusError): void => {
    if (caller.viewing) auditView(audit, ctx, caller.viewing, { code: error.status.code, reason: reasonOf(error) });
    else if (decidedHere.test(ctx.path)) auditDenial(audit, ctx, caller, error);
  };

/** The target has no uid here, so no Event is written on the User. */
function auditDenial(audit: Audit, ctx: Context, caller: Caller, error: StatusError): void {
  const { code, details } = error.status;
  const isAboutUser = details?.kind === 'users' && details.group === 'auth.platform.io' && details.name !== undefined;
  audit.record({
    ...auditCaller(ctx, caller),
    audit: 'AccessDenied',
    ...(isAboutUser && { target: { name: details.name ?? '', uid: '' } }),
    outcome: 'failure',
    code,
    reason: reasonOf(error),
  });
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

import type { Context } from 'koa';
import type { StatusError } from '../api/status.ts';
import { type Audit, auditCaller } from './audit.ts';
import type { Caller } from './operation.ts';

/** What only we have decided: what the API server refuses is in its own audit log, and is no failure of ours where it is passed on. */
const decidedHere = /^\/(auth|api\/(proxy|kubernetes))\//;

/** Tells the audit trail what a caller was refused. The User whom it was about has no uid here, and so gets no Event. */
export const auditForbidden =
  (audit: Audit) =>
  (ctx: Context, { identity }: Caller, { status: { code, details } }: StatusError): void => {
    if (!decidedHere.test(ctx.path)) return;
    const isAboutUser = details?.kind === 'users' && details.group === 'auth.platform.io' && details.name !== undefined;
    audit.record({
      ...auditCaller(ctx, { identity }),
      audit: 'AccessDenied',
      ...(isAboutUser && { target: { name: details.name ?? '', uid: '' } }),
      outcome: 'failure',
      code,
      reason: details?.causes?.[0]?.reason ?? 'Forbidden',
    });
  };

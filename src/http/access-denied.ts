import type { Context } from 'koa';
import type { StatusError } from '../api/status.ts';
import { type Audit, auditCaller } from './audit.ts';
import type { Caller } from './operation.ts';

/** Refusals of the service itself. The API server records its own refusals in its audit log. */
const decidedHere = /^\/(auth|debug|api\/(proxy|kubernetes))\//;

/** Records the refusal of a caller. The target has no uid here, so no Event is written on the User. */
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

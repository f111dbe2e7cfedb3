import type { Caller } from '@atrium/http/caller.ts';
import { StatusError } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import { auditCaller, markRecorded } from '../audit/audit.ts';
import type { AccessContext } from './context.ts';
import { accessOf } from './grant.ts';
import type { NewRequest } from './request.ts';

interface Attempt {
  readonly ctx: Context;
  readonly caller: Caller;
  /** The request that is asked for, or the name of one that exists. */
  readonly about: NewRequest | string;
}

/** Does the work, and records its refusal in the audit trail. Requests that do not exist, or are hidden, are not recorded. */
export async function recordRefusal<T>(context: AccessContext, { ctx, caller, about }: Attempt, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code = 500, details } = error instanceof StatusError ? error.status : {};
    if (code < 500 && code !== 404) {
      const reason = details?.causes?.[0]?.reason ?? (error instanceof StatusError ? error.status.reason : undefined);
      context.services.audit.record({
        audit: 'AccessRefused',
        ...auditCaller(ctx, caller),
        ...(typeof about === 'string' ? existing(context, about) : asked(context, about, caller)),
        outcome: 'failure',
        code,
        ...(reason !== undefined && { reason }),
      });
      if (error instanceof StatusError) markRecorded(error);
    }
    throw error;
  }
}

function existing({ requests }: AccessContext, name: string) {
  const row = requests.cache.get(name);
  return row?.spec === undefined ? {} : { target: { name, uid: row.uid }, access: accessOf(row, row.spec) };
}

/** Names a policy and a role only if they exist, because callers write the others. */
function asked({ policies }: AccessContext, { policy, roleRef, namespaces }: NewRequest, { identity }: Caller) {
  const known = policies.cache.get(policy);
  if (known === undefined) return {};
  const role = known.roleRefs.includes(roleRef) ? roleRef : '';
  return { access: { requester: identity.name, policy, role, ...(namespaces && { namespaces }) } };
}

/** Break-glass: access at once, without the approvals of the policy. Each use is counted and reported, and reviewed by an approver. */
import { timestamp } from '@atrium/kubernetes/clock.ts';
import { report } from '@atrium/kubernetes/events.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { tooManyRequests } from '@atrium/objects/status.ts';
import type { auditCaller } from '../audit/audit.ts';
import type { Account } from '../users/record/account.ts';
import { readUser, userKind } from '../users/record/schema.ts';
import { UserStatusWriter } from '../users/status.ts';
import type { AccessContext } from './context.ts';
import { accessOf, firstStatus } from './grant.ts';
import { accessRequestKind, type RequestRow, type RequestSpec } from './request.ts';
import { timeLapseOf } from './standing.ts';
import { transition } from './status-writer.ts';

/** Bound of the custom resource definition of User. */
const maxUses = 3;
const dayMs = 86_400_000;
/** The Events are written even if the caller leaves. */
const eventsWithinMs = 10_000;

/** Reports whether an approver still has to review the request. */
export const isUnreviewed = ({ spec, review, phase }: Pick<RequestRow, 'spec' | 'review' | 'phase'>): boolean =>
  spec?.breakGlass === true && review === undefined && phase !== '';

/**
 * Counts a use of break-glass on the User record. A crash before the request exists costs the use.
 *
 * @throws StatusError 429 after three uses in 24 hours, 409, 503, 504
 */
export async function countUse(
  { services }: Pick<AccessContext, 'services'>,
  account: Pick<Account, 'name' | 'uid'>,
  { isDryRun, signal }: { isDryRun: boolean; signal: AbortSignal },
): Promise<void> {
  const change = (object: KubernetesObject) => {
    const now = services.now();
    const used = (readUser(object).status?.breakGlass ?? []).filter((time) => Date.parse(time) > now.getTime() - dayMs);
    if (used.length >= maxUses) throw allowanceUsed(used, now);
    return isDryRun ? undefined : { breakGlass: [...used, timestamp(now)] };
  };
  await new UserStatusWriter(services).patch(account, change, signal);
}

function allowanceUsed(used: readonly string[], now: Date) {
  const freeAt = Math.min(...used.map((time) => Date.parse(time))) + dayMs;
  const message = `break-glass is possible ${maxUses} times in 24 hours: ask for an approval, or wait`;
  return tooManyRequests(message, Math.max(1, Math.ceil((freeAt - now.getTime()) / 1000)));
}

/**
 * Writes the first status of a request, and reports break-glass. Several replicas may do so at once, and one reports.
 *
 * @param origin the caller, if the request is still being answered
 * @returns the request as it is then; 'conflict' if another write came first
 * @throws StatusError 503, 504
 */
export async function begin(
  context: AccessContext,
  row: RequestRow,
  signal: AbortSignal,
  origin: Partial<ReturnType<typeof auditCaller>> = {},
): Promise<RequestRow | 'conflict'> {
  const written = await transition(context, row, firstStatus(context, row), signal, row.spec?.breakGlass);
  // A request whose replica was killed long ago gives no access.
  if (written === 'conflict' || written.spec?.breakGlass !== true || timeLapseOf(context, written)) return written;
  const { name, uid, spec } = written;
  context.services.audit.record({
    audit: 'BreakGlassUsed',
    ...origin,
    target: { name, uid },
    outcome: 'success',
    access: accessOf(written, spec),
  });
  // A caller who leaves at once must not prevent the Events.
  void reportUse(context, written, spec);
  return written;
}

/**
 * Writes Warning Events about the request and the User. A lost Event is no failure. The reason is left out: users without the right to
 * access requests may read Events.
 */
async function reportUse({ services }: AccessContext, { name, uid, until }: RequestRow, spec: RequestSpec): Promise<void> {
  const { requester, roleRef, policy, namespaces, record, recordUID } = spec;
  const place = namespaces === undefined ? 'the platform' : namespaces.join(', ');
  const text = `${requester} uses break-glass of ${policy.name}: ${roleRef} in ${place} until ${timestamp(new Date(until))}`;
  const event = { type: 'Warning', reason: 'BreakGlassUsed', message: text.slice(0, 1024), action: 'BreakGlass' } as const;
  const signal = AbortSignal.timeout(eventsWithinMs);
  await Promise.all([
    report(services, { kind: accessRequestKind, object: { metadata: { name, uid } } }, event, signal),
    report(services, { kind: userKind, object: { metadata: { name: record, uid: recordUID } } }, event, signal),
  ]);
}

import { auditOrigin } from '../http/audit.ts';
import type { Account } from '../users/record/account.ts';
import { errors } from './oidc-provider.ts';
import { type Progress, proving } from './progress.ts';
import {
  afterFactors,
  afterSecondFactor,
  askForFactor,
  askToSetUp,
  hasSecondFactor,
  type Proved,
  refuseOverdue,
  ruleFor,
  type StepParts,
  showCodes,
} from './steps.ts';
import type { Visit } from './visit.ts';

/** The form with a second factor. @throws StatusError 503, 504 */
export async function takeFactor(parts: StepParts, visit: Visit, progress: Progress, form: URLSearchParams): Promise<void> {
  const { factors } = parts;
  if (factors === undefined) throw stale();
  const { name, uid, email, sessionsNotBefore } = progress;
  const verdict = await factors.verify({ name, uid, email, sessionsNotBefore }, form.get('code') ?? '', auditOrigin(visit.ctx));
  if (verdict.outcome === 'refused') {
    visit.ctx.status = 403;
    return askForFactor(parts, visit, progress, true);
  }
  await afterSecondFactor(parts, visit, { progress: proving(progress, verdict.means), account: verdict.account });
}

/** The form with the first code of an app that is set up. @throws StatusError 503, 504 */
export async function takeNewFactor(parts: StepParts, visit: Visit, progress: Progress, form: URLSearchParams): Promise<void> {
  const { factors } = parts;
  const { secret } = progress;
  const account = accountOf(parts, progress);
  if (factors === undefined || secret === undefined || account === undefined) throw stale();
  const proved = { progress, account };
  const later = await laterOf(parts, proved);
  if (later === undefined) return refuseOverdue(parts, visit, account);
  if (form.has('later')) return afterFactors(parts, visit, proved);
  const origin = auditOrigin(visit.ctx);
  if (!(await factors.addTOTP(account, { secret, code: (form.get('code') ?? '').replace(/\s/g, '') }, origin))) {
    visit.ctx.status = 422;
    return askToSetUp(parts, visit, progress, { later, isWrong: true });
  }
  const done: Progress = { ...progress, hasSetUp: true };
  const hasCodes = (await factors.list(account)).some(({ type }) => type === 'RecoveryCodes');
  if (hasCodes) return afterFactors(parts, visit, { progress: done, account });
  showCodes(parts, visit, done, await factors.addRecoveryCodes(account, origin));
}

/** The codes for paper have been read. */
export async function takeRead(parts: StepParts, visit: Visit, progress: Progress): Promise<void> {
  const account = accountOf(parts, progress);
  if (account === undefined) throw stale();
  await afterFactors(parts, visit, { progress, account });
}

/** Until when the login may go on without it; undefined if that time is over. */
async function laterOf(parts: StepParts, { account }: Proved): Promise<{ until: Date | undefined } | undefined> {
  if (ruleFor(parts, account) !== 'required' || (await hasSecondFactor(parts, account))) return { until: undefined };
  const due = (account.factorsDue ?? 0) * 1000;
  return due > parts.services.now().getTime() ? { until: new Date(due) } : undefined;
}

/** The record, unless the password was changed since it was given. */
function accountOf({ accounts }: StepParts, { name, uid, sessionsNotBefore }: Progress): Account | undefined {
  const account = accounts.get(name);
  return account?.uid === uid && account.sessionsNotBefore === sessionsNotBefore ? account : undefined;
}

/** @returns for a form that does not come from this visit, or not after the last change of the password */
export const stale = () => new errors.SessionNotFound('the password was given elsewhere, or too long ago');

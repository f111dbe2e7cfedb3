import { cleaned } from '../api/shown-text.ts';
import { kindsOf } from '../config/factor-kinds.ts';
import type { PasskeyProof } from '../factors/passkeys.ts';
import { auditOrigin } from '../http/audit.ts';
import type { Account } from '../users/record/account.ts';
import { errors } from './oidc-provider.ts';
import { type Progress, proving } from './progress.ts';
import {
  afterFactors,
  afterSecondFactor,
  askForFactor,
  askToSetUp,
  askToSetUpApp,
  askToSetUpPasskey,
  hasPasskeys,
  hasSecondFactor,
  offersPasskeys,
  type Proved,
  refuseOverdue,
  ruleFor,
  type StepParts,
  showCodes,
} from './steps.ts';
import type { FormVisit, Visit } from './visit.ts';

/** Handles the form with a second factor. @throws StatusError 503, 504 */
export async function takeFactor(parts: StepParts, visit: Visit, progress: Progress, form: URLSearchParams): Promise<void> {
  const { factors } = parts;
  if (factors === undefined) throw stale();
  const { name, uid, email, sessionsNotBefore } = progress;
  const passkey = await passkeyIn(parts, visit, form, uid);
  const given = passkey ?? form.get('code') ?? '';
  const verdict = await factors.verify({ name, uid, email, sessionsNotBefore }, given, auditOrigin(visit.ctx));
  if (verdict.outcome === 'refused') {
    visit.ctx.status = 403;
    return askForFactor(parts, visit, progress, await factors.list(progress), passkey === undefined ? 'code' : 'passkey');
  }
  await afterSecondFactor(parts, visit, { progress: proving(progress, verdict.means), account: verdict.account });
}

/** Handles the other buttons of a setup form: later, or another kind of factor. Returns undefined if the request is answered. */
async function beforeSetUp(parts: StepParts, visit: Visit, progress: Progress, form: URLSearchParams) {
  const account = accountOf(parts, progress);
  if (account === undefined) throw stale();
  const proved = { progress, account };
  const later = await laterOf(parts, proved);
  if (later === undefined) return refuseOverdue(parts, visit, account);
  if (form.has('later')) return afterFactors(parts, visit, proved);
  const instead = form.get('instead');
  if (instead === 'totp' || instead === 'passkey') return askToSetUp(parts, visit, progress, { later }, instead);
  return { account, later };
}

/** Handles the form with the first code of a new app. @throws StatusError 503, 504 */
export async function takeNewFactor(parts: StepParts, visit: Visit, progress: Progress, form: URLSearchParams): Promise<void> {
  const { factors } = parts;
  const { secret } = progress;
  if (factors === undefined || secret === undefined || !kindsOf(parts.services.config).includes('totp')) throw stale();
  const asked = await beforeSetUp(parts, visit, progress, form);
  if (asked === undefined) return;
  const { account, later } = asked;
  const code = (form.get('code') ?? '').replace(/\s/g, '');
  if ((await factors.addTOTP(account, { secret, code }, auditOrigin(visit.ctx))) !== 'added') {
    visit.ctx.status = 422;
    return askToSetUpApp(parts, visit, progress, { later, isWrong: true });
  }
  await afterSetUp(parts, visit, progress, account);
}

/** Handles the form with the response of a new passkey. @throws StatusError 503, 504 */
export async function takeNewPasskey(parts: StepParts, visit: Visit, progress: Progress, form: URLSearchParams): Promise<void> {
  if (!offersPasskeys(parts)) throw stale();
  const asked = await beforeSetUp(parts, visit, progress, form);
  if (asked === undefined) return;
  const { account, later } = asked;
  const proof = await passkeyIn(parts, visit, form, progress.uid);
  const name = nameIn(form);
  const outcome = proof === undefined ? 'refused' : await parts.passkeys.passkeys.add(account, proof, name, auditOrigin(visit.ctx));
  if (outcome === 'added') return afterSetUp(parts, visit, progress, account);
  visit.ctx.status = outcome === 'refused' ? 422 : 409;
  await askToSetUpPasskey(parts, visit, progress, { later, problem: outcome === 'overtaken' ? 'refused' : outcome });
}

/** Continues after setup. The user receives recovery codes with the first factor. */
async function afterSetUp(parts: StepParts, visit: Visit, progress: Progress, account: Account): Promise<void> {
  const { factors } = parts;
  if (factors === undefined) throw stale();
  const done: Progress = { ...progress, hasSetUp: true };
  const hasCodes = (await factors.list(account)).some(({ type }) => type === 'RecoveryCodes');
  if (hasCodes) return afterFactors(parts, visit, { progress: done, account });
  showCodes(parts, visit, done, await factors.addRecoveryCodes(account, auditOrigin(visit.ctx)));
}

const maxNameLength = 64;

/** Returns the name that the user chose for a passkey. */
export const nameIn = (form: URLSearchParams): string => cleaned(form.get('name') ?? '').slice(0, maxNameLength);

/**
 * Returns the response of a browser for a passkey. An expired challenge is replaced by an empty one, which no response can match.
 *
 * @param uid UID of the user who must sign; '' if the user is not known yet
 */
export async function passkeyIn(parts: StepParts, visit: FormVisit, form: URLSearchParams, uid: string): Promise<PasskeyProof | undefined> {
  const assertion = form.get('assertion') ?? '';
  if (!hasPasskeys(parts) || assertion === '') return undefined;
  const challenge = await parts.passkeys.challenges.open(form.get('challenge') ?? '', visit.interaction.uid, uid);
  return { assertion, challenge: challenge ?? { text: '', expiresAt: new Date(0) } };
}

/** Handles the form that confirms the recovery codes. */
export async function takeRead(parts: StepParts, visit: Visit, progress: Progress): Promise<void> {
  const account = accountOf(parts, progress);
  if (account === undefined) throw stale();
  await afterFactors(parts, visit, { progress, account });
}

/** Handles the form that confirms notices, and deletes them. @throws StatusError 503, 504 */
export async function takeNotices(parts: StepParts, visit: Visit, { notices = [], ...progress }: Progress): Promise<void> {
  const account = accountOf(parts, progress);
  if (account === undefined) throw stale();
  await parts.notices.remove(account, notices);
  await afterSecondFactor(parts, visit, { progress, account });
}

/** Returns the postponement of setup; undefined if the deadline has passed. */
async function laterOf(parts: StepParts, { account }: Proved): Promise<{ until: Date | undefined } | undefined> {
  if (ruleFor(parts, account) !== 'required' || (await hasSecondFactor(parts, account))) return { until: undefined };
  const due = (account.factorsDue ?? 0) * 1000;
  return due > parts.services.now().getTime() ? { until: new Date(due) } : undefined;
}

/** Returns the account, unless the password has changed since the user gave it. */
function accountOf({ accounts }: StepParts, { name, uid, sessionsNotBefore }: Progress): Account | undefined {
  const account = accounts.get(name);
  return account?.uid === uid && account.sessionsNotBefore === sessionsNotBefore ? account : undefined;
}

/** @returns the error for a form of another visit, or from before the last password change */
export const stale = () => new errors.SessionNotFound('the password was given elsewhere, or too long ago');

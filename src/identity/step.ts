import type { Context } from 'koa';
import type { PasskeyLogin } from '../factors/passkey-login.ts';
import type { PasskeyProof, Passkeys } from '../factors/passkeys.ts';
import type { SecondFactors } from '../factors/second-factors.ts';
import { auditOrigin } from '../http/audit.ts';
import type { Services } from '../services.ts';
import type { KnownBrowsers } from '../users/logins/known-browsers.ts';
import type { Notices } from '../users/logins/notices.ts';
import type { PasswordChange } from '../users/passwords/change.ts';
import type { Account } from '../users/record/account.ts';
import type { LocalGroupLookup } from '../users/record/local-groups.ts';
import type { AccountLookup } from '../users/record/lookup.ts';
import type { Challenges } from './challenges.ts';
import { errors } from './oidc-provider.ts';
import type { Page } from './page.ts';
import type { LoginProgress, Progress } from './progress.ts';
import type { Views } from './views.ts';
import type { FormVisit, Visit } from './visit.ts';

/** Dependencies of the login steps. */
export interface StepParts {
  services: Services;
  views: Views;
  consoleClientID: string;
  accounts: AccountLookup;
  localGroups: LocalGroupLookup;
  knownBrowsers: Pick<KnownBrowsers, 'find' | 'remember'>;
  passwordChange: Pick<PasswordChange, 'change'>;
  notices: Pick<Notices, 'remove'>;
  progress: LoginProgress;
  /** Undefined if second factors are turned off. */
  factors: SecondFactors | undefined;
  /** Undefined also if browsers do not support passkeys at our address. */
  passkeys: PasskeyParts | undefined;
}

export interface PasskeyParts {
  passkeys: Passkeys;
  login: PasskeyLogin;
  challenges: Challenges;
}

/** Progress of a login, and its account. */
export interface Proved {
  progress: Progress;
  account: Account;
}

/** Step of a login after the password. */
export interface Step {
  /** Returns the page of the step; undefined if this login does not require the step. @throws StatusError 503, 504 */
  show(parts: StepParts, visit: Visit, proved: Proved): Promise<Page | undefined>;
  /**
   * Handles the form of the page.
   *
   * @returns the login with the new proof, or the page that answers a form without it
   * @throws SessionNotFound for a form that is no longer valid; StatusError 429, 503, 504
   */
  take(parts: StepParts, visit: Visit, progress: Progress, form: URLSearchParams): Promise<Proved | Page>;
}

export const aboutUser = ({ ctx }: { ctx: Context }, { name, uid, subjectName }: Account) => ({
  ...auditOrigin(ctx),
  actor: { name: subjectName, uid },
  target: { name, uid },
});

/** Returns the account. @throws SessionNotFound if the password has changed since the user gave it */
export function accountOf({ accounts }: StepParts, { name, uid, sessionsNotBefore }: Progress): Account {
  const account = accounts.get(name);
  if (account?.uid !== uid || account.sessionsNotBefore !== sessionsNotBefore) throw stale();
  return account;
}

/** @returns the error for a form of another visit, or from before the last password change */
export const stale = () => new errors.SessionNotFound('the password was given elsewhere, or too long ago');

export const hasPasskeys = (parts: StepParts): parts is StepParts & { passkeys: PasskeyParts } => parts.passkeys !== undefined;

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

import type { Context } from 'koa';
import { type FactorKind, kindsOf } from '../config/factor-kinds.ts';
import type { PasskeyLogin } from '../factors/passkey-login.ts';
import type { Passkeys, SetUp } from '../factors/passkeys.ts';
import type { Factor } from '../factors/resource.ts';
import type { SecondFactors } from '../factors/second-factors.ts';
import { totpURL } from '../factors/totp.ts';
import { auditOrigin } from '../http/audit.ts';
import { timestamp } from '../kubernetes/timestamp.ts';
import { seenWithinMs } from '../kubernetes/until.ts';
import type { Services } from '../services.ts';
import { type FactorRule, ruleOf } from '../users/factor-rule.ts';
import type { KnownBrowsers } from '../users/logins/known-browsers.ts';
import type { Notices } from '../users/logins/notices.ts';
import type { PasswordChange } from '../users/passwords/change.ts';
import type { Account } from '../users/record/account.ts';
import { type LocalGroupLookup, requireCurrentGroups } from '../users/record/local-groups.ts';
import type { AccountLookup } from '../users/record/lookup.ts';
import type { Notice } from '../users/record/notice.ts';
import { subjectOf } from '../users/record/subject-name.ts';
import { UserStatusWriter } from '../users/status.ts';
import { resultOf } from './account.ts';
import type { Challenges } from './challenges.ts';
import { codesPage, factorPage, overduePage, passkeyPage, setUpPage } from './factor-pages.ts';
import type { NewPasswordProblem } from './form-parts.ts';
import { noticesPage } from './notices-page.ts';
import { errors } from './oidc-provider.ts';
import { newPasswordPage } from './pages.ts';
import type { LoginProgress, Progress } from './progress.ts';
import { requestScope } from './request-scope.ts';
import type { Views } from './views.ts';
import { type FormVisit, finish, formTargetsOf, send, textsOf, type Visit } from './visit.ts';

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

/** Continues after the correct password: asks for the second factor, if the user has one. @throws StatusError 503, 504 */
export async function afterPassword(parts: StepParts, visit: Visit, proved: Proved): Promise<void> {
  const { factors } = parts;
  if (factors === undefined) return afterSecondFactor(parts, visit, proved);
  const theirs = await factors.list(proved.account);
  if (theirs.length > 0) return askForFactor(parts, visit, proved.progress, theirs);
  await afterSecondFactor(parts, visit, proved);
}

/** Continues after all existing factors: shows notices, then asks to set up a factor. @throws StatusError 503, 504 */
export async function afterSecondFactor(parts: StepParts, visit: Visit, proved: Proved): Promise<void> {
  if (proved.progress.notices !== undefined) return tellNotices(parts, visit, proved.progress, proved.progress.notices);
  if (parts.factors === undefined) return afterFactors(parts, visit, proved);
  const rule = ruleFor(parts, proved.account);
  const wanted = wantedFactor(visit);
  const isDue = rule === 'required' && !(await hasSecondFactor(parts, proved.account));
  const due = isDue ? await dueTimeOf(parts, proved.account) : undefined;
  if (due !== undefined && due.getTime() <= parts.services.now().getTime()) return refuseOverdue(parts, visit, proved.account);
  if (wanted !== undefined && rule !== 'off') return setUp(parts, visit, proved, wanted);
  if (due !== undefined) return askToSetUp(parts, visit, proved.progress, { later: { until: due } });
  await afterFactors(parts, visit, proved);
}

function tellNotices(parts: StepParts, visit: Visit, progress: Progress, notices: readonly Notice[]): void {
  const form = { proof: parts.progress.seal(progress, 'notices'), notices, formTargets: formTargetsOf(visit) };
  send(parts, visit, noticesPage(textsOf(parts, visit), form));
}

/** Asks the user to set up a factor. The default is an app, because a page cannot tell whether the browser supports passkeys. */
export async function askToSetUp(
  parts: StepParts,
  visit: FormVisit,
  progress: Progress,
  asked: SetUpAsked,
  kind?: FactorKind,
): Promise<void> {
  const kinds = kindsOf(parts.services.config);
  const chosen = kind ?? (kinds.includes('totp') ? 'totp' : 'passkey');
  if (chosen === 'passkey' && offersPasskeys(parts)) return askToSetUpPasskey(parts, visit, progress, asked);
  if (chosen === 'totp' && kinds.includes('totp')) return askToSetUpApp(parts, visit, progress, asked);
  throw new errors.InvalidRequest(
    chosen === 'totp' ? 'apps are off' : 'passkeys are off, or browsers have none: they want https and a name',
  );
}

/**
 * Returns the factors that another visit has set up since the password was given. An older form must neither bypass nor replace them.
 */
export async function owedFactors({ factors }: StepParts, progress: Progress): Promise<readonly Factor[]> {
  if (factors === undefined || progress.step === 'factor' || progress.hasSetUp || progress.amr.includes('mfa')) return [];
  return factors.list(progress);
}

/** Refuses a login after the deadline: a stolen password must not set up a factor. */
export function refuseOverdue({ services, views }: StepParts, visit: Visit, account: Account): void {
  services.audit.record({ audit: 'LoginFailed', ...aboutUser(visit, account), outcome: 'failure', reason: 'FactorRequired' });
  visit.ctx.status = 403;
  views.send(visit.ctx, overduePage(textsOf({ views }, visit), views.consoleURL));
}

/** Continues after all factors: asks for a new password, if the password must be changed. */
export async function afterFactors(parts: StepParts, visit: Visit, proved: Proved): Promise<void> {
  if (proved.account.mustChangePassword) return askForPassword(parts, visit, proved.progress);
  await succeed(parts, visit, proved);
}

/** Completes the login. */
export async function succeed(parts: StepParts, visit: Visit, { progress, account }: Proved): Promise<void> {
  await parts.accounts.waitFor(account.resourceVersion, seenWithinMs, requestScope().signal);
  await parts.knownBrowsers.remember(visit.ctx, account.uid);
  // The console records its own logins.
  if (visit.clientID !== parts.consoleClientID)
    parts.services.audit.record({ audit: 'LoginSucceeded', ...aboutUser(visit, account), outcome: 'success' });
  const { amr, acr } = progress;
  const login = { accountId: subjectOf(account), remember: false, amr, acr };
  await finish(visit, { login, consent: {}, enrol: {}, ...resultOf(account) });
}

export const aboutUser = ({ ctx }: { ctx: Context }, { name, uid, subjectName }: Account) => ({
  ...auditOrigin(ctx),
  actor: { name: subjectName, uid },
  target: { name, uid },
});

/** @param was kind of the wrong input, if any; @throws StatusError 503, 504 */
export async function askForFactor(
  parts: StepParts,
  visit: Visit,
  progress: Progress,
  factors: readonly Factor[],
  was?: 'code' | 'passkey',
): Promise<void> {
  const form = {
    proof: parts.progress.seal(progress, 'factor'),
    isWrong: was !== undefined,
    was: was ?? 'code',
    passkey: await passkeyAsked(parts, visit, progress, factors),
    hasApp: factors.some(({ type }) => type === 'TOTP'),
    formTargets: formTargetsOf(visit),
  };
  parts.views.send(visit.ctx, factorPage(textsOf(parts, visit), form));
}

/** Returns options for the user's passkeys; undefined if none is valid on this host. */
async function passkeyAsked({ passkeys: parts }: StepParts, { interaction }: Visit, { uid }: Progress, factors: readonly Factor[]) {
  const credentials = (await parts?.passkeys.credentialsIn(factors)) ?? [];
  if (parts === undefined || credentials.length === 0) return undefined;
  const { text, sealed } = parts.challenges.give(interaction.uid, uid);
  return { challenge: sealed, options: parts.passkeys.requestOptions(text, credentials) };
}

interface SetUpAsked {
  /** Postponement of setup: undefined if it is not possible, with `until` if setup is mandatory. */
  later: { until: Date | undefined } | undefined;
}

/** Asks the browser to create a passkey. @throws StatusError 503, 504 */
export async function askToSetUpPasskey(
  parts: StepParts & { passkeys: PasskeyParts },
  visit: FormVisit,
  { secret: _unused, ...progress }: Progress,
  { later, problem }: SetUpAsked & { problem?: Exclude<SetUp, 'added' | 'overtaken'> },
): Promise<void> {
  const { challenges, passkeys } = parts.passkeys;
  const { text, sealed } = challenges.give(visit.interaction.uid, progress.uid);
  const options = await passkeys.creationOptions(progress, text, parts.views.title);
  const proof = parts.progress.seal(progress, 'passkey');
  const mayBeApp = kindsOf(parts.services.config).includes('totp');
  const form = { proof, passkey: { challenge: sealed, options }, problem, later, mayBeApp, formTargets: formTargetsOf(visit) };
  send(parts, visit, passkeyPage(textsOf(parts, visit), form));
}

export const hasPasskeys = (parts: StepParts): parts is StepParts & { passkeys: PasskeyParts } => parts.passkeys !== undefined;

/** Reports whether users can set up passkeys, and log in by them without a password. */
export const offersPasskeys = (parts: StepParts): parts is StepParts & { passkeys: PasskeyParts } =>
  hasPasskeys(parts) && kindsOf(parts.services.config).includes('passkey');

/** Shows the secret for an app: a new one, or the same after a wrong code. */
export function askToSetUpApp(
  parts: StepParts,
  visit: FormVisit,
  { secret = parts.factors?.newSecret() ?? '', ...progress }: Progress,
  { later, isWrong = false }: SetUpAsked & { isWrong?: boolean },
): void {
  const proof = parts.progress.seal({ ...progress, secret }, 'enrol');
  const url = totpURL(secret, { issuer: parts.views.title, label: progress.email });
  const mayBePasskey = offersPasskeys(parts);
  const form = { proof, isWrong, secret, url, later, mayBePasskey, formTargets: formTargetsOf(visit) };
  send(parts, visit, setUpPage(textsOf(parts, visit), form));
}

export function showCodes(parts: StepParts, visit: Visit, { secret: _used, ...progress }: Progress, codes: readonly string[]): void {
  const proof = parts.progress.seal(progress, 'codes');
  parts.views.send(visit.ctx, codesPage(textsOf(parts, visit), { next: { proof }, codes, formTargets: formTargetsOf(visit) }));
}

export function askForPassword(parts: StepParts, visit: Visit, progress: Progress, problem?: NewPasswordProblem): void {
  const { minLength } = parts.services.config.users.passwordPolicy;
  const form = { email: progress.email, proof: parts.progress.seal(progress, 'password'), minLength, formTargets: formTargetsOf(visit) };
  parts.views.send(visit.ctx, newPasswordPage(textsOf(parts, visit), { ...form, ...(problem && { problem }) }));
}

/** @throws StatusError 503 while the groups are unknown, because a missed rule could waive a required factor */
export function ruleFor({ localGroups, services }: StepParts, account: Account): FactorRule {
  if (services.config.login.factors.rules.length > 0) requireCurrentGroups(localGroups);
  return ruleOf(account, localGroups, services.config);
}

/** Reports whether the user has a second factor. Recovery codes alone are none, since they only replace a lost factor. */
export const hasSecondFactor = async ({ factors }: StepParts, account: Account): Promise<boolean> =>
  (await factors?.list(account))?.some(({ type }) => type !== 'RecoveryCodes') ?? false;

type WantedFactor = FactorKind | 'codes';

/** Returns the factor that the relying party asks to set up (`prompt=enrol`). */
function wantedFactor({ interaction }: Visit): WantedFactor | undefined {
  const { prompt, factor } = interaction.params;
  if (!String(prompt).split(' ').includes('enrol')) return undefined;
  if (factor === 'passkey' || factor === 'totp' || factor === 'codes') return factor;
  throw new errors.InvalidRequest('factor must be passkey, totp or codes');
}

async function setUp(parts: StepParts, visit: Visit, proved: Proved, wanted: WantedFactor): Promise<void> {
  if (wanted !== 'codes') return askToSetUp(parts, visit, proved.progress, { later: { until: undefined } }, wanted);
  // Recovery codes replace another factor, and are not a factor by themselves.
  if (!(await hasSecondFactor(parts, proved.account))) return afterFactors(parts, visit, proved);
  const codes = (await parts.factors?.addRecoveryCodes(proved.account, auditOrigin(visit.ctx))) ?? [];
  showCodes(parts, visit, proved.progress, codes);
}

/** Returns the deadline for setup, which the first login under the rule sets. */
async function dueTimeOf({ services, accounts }: StepParts, account: Account): Promise<Date> {
  if (account.factorsDue !== undefined) return new Date(account.factorsDue * 1000);
  const due = new Date(services.now().getTime() + services.config.login.factors.grace);
  const { metadata } = await new UserStatusWriter(services).patch(account, { factorsDueTime: timestamp(due) });
  await accounts.waitFor(metadata.resourceVersion, seenWithinMs, requestScope().signal);
  return due;
}

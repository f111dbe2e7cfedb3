import { timestamp } from '@atrium/kubernetes/clock.ts';
import { cleaned } from '@atrium/objects/object-schemas.ts';
import { auditOrigin } from '../audit/audit.ts';
import { type FactorKind, type FactorRule, kindsOf, ruleOf } from '../config/factors.ts';
import type { SetUp } from '../factors/passkeys.ts';
import { totpURL } from '../factors/totp.ts';
import type { Account } from '../users/record/account.ts';
import { requireCurrentGroups } from '../users/record/local-groups.ts';
import { UserStatusWriter } from '../users/status.ts';
import { codesPage, overduePage, passkeyPage, setUpPage } from './factor-pages.ts';
import { errors } from './oidc-provider.ts';
import type { Page } from './page.ts';
import { requestScope } from './request-scope.ts';
import {
  aboutUser,
  accountOf,
  type FormVisit,
  formTargetsOf,
  hasPasskeys,
  type PasskeyParts,
  type Progress,
  passkeyIn,
  type Step,
  type StepParts,
  staleForm,
  textsOf,
  type Visit,
} from './visit.ts';

/** Asks to set up a factor, if a rule requires it or the relying party asks for it (`prompt=enrol`). */
export const newFactorStep: Step = {
  async show(parts, visit, { progress, account }) {
    if (parts.factors === undefined) return undefined;
    const rule = ruleFor(parts, account);
    const wanted = wantedFactor(visit);
    const isDue = rule === 'required' && !(await hasSecondFactor(parts, account));
    const due = isDue ? await dueTimeOf(parts, account) : undefined;
    if (due !== undefined && due.getTime() <= parts.services.now().getTime()) return refuseOverdue(parts, visit, account);
    if (wanted !== undefined && rule !== 'off')
      return wanted === 'codes' ? undefined : showSetUpForm(parts, visit, { progress, later: { until: undefined } }, wanted);
    return due && showSetUpForm(parts, visit, { progress, later: { until: due } });
  },

  async take(parts, visit, progress, form) {
    if (!isOffered(parts, kindIn(progress))) throw staleForm();
    const account = accountOf(parts, progress);
    const later = await postponementOf(parts, account);
    if (later === undefined) return refuseOverdue(parts, visit, account);
    if (form.has('later')) return { progress, account };
    const outcome = await takeNewFactor(parts, visit, { progress, account, later, form });
    if (outcome === 'overtaken') throw staleForm();
    return outcome === 'added' ? { progress: { ...progress, hasSetUp: true }, account } : outcome;
  },
};

/** Shows new recovery codes: with the first factor, or if the relying party asks for them (`prompt=enrol`). */
export const codesStep: Step = {
  async show(parts, visit, { progress, account }) {
    const { factors } = parts;
    if (factors === undefined) return undefined;
    const isWanted = progress.hasSetUp
      ? (await factors.list(account)).every(({ type }) => type !== 'RecoveryCodes')
      : wantedFactor(visit) === 'codes' && ruleFor(parts, account) !== 'off' && (await hasSecondFactor(parts, account));
    if (!isWanted) return undefined;
    const codes = await factors.addRecoveryCodes(account, auditOrigin(visit.ctx));
    const { secret: _used, ...done } = progress;
    const proof = parts.progress.seal(done, 'codes');
    return codesPage(textsOf(parts, visit), { next: { proof }, codes, formTargets: formTargetsOf(visit) });
  },

  take: async (parts, _visit, progress) => ({ progress, account: accountOf(parts, progress) }),
};

/** @throws StatusError 503 while the groups are unknown, because a missed rule could waive a required factor */
export function ruleFor({ localGroups, services }: StepParts, account: Account): FactorRule {
  if (services.config.login.factors.rules.length > 0) requireCurrentGroups(localGroups);
  return ruleOf(account, localGroups, services.config);
}

/** Reports whether the user has a second factor. Recovery codes alone are none, since they only replace a lost factor. */
const hasSecondFactor = async ({ factors }: StepParts, account: Account): Promise<boolean> =>
  (await factors?.list(account))?.some(({ type }) => type !== 'RecoveryCodes') ?? false;

/** Returns the factor that the relying party asks to set up (`prompt=enrol`). */
function wantedFactor({ interaction }: Visit): FactorKind | 'codes' | undefined {
  const { prompt, factor } = interaction.params;
  if (!String(prompt).split(' ').includes('enrol')) return undefined;
  if (factor === 'passkey' || factor === 'totp' || factor === 'codes') return factor;
  throw new errors.InvalidRequest('factor must be passkey, totp or codes');
}

/** Returns the deadline for setup, which the first login under the rule sets. */
async function dueTimeOf({ services, accounts }: StepParts, account: Account): Promise<Date> {
  if (account.factorsDue !== undefined) return new Date(account.factorsDue * 1000);
  const due = new Date(services.now().getTime() + services.config.login.factors.grace);
  const { metadata } = await new UserStatusWriter(services).patch(account, { factorsDueTime: timestamp(due) });
  await accounts.watch.waitForWrite(metadata.resourceVersion, requestScope().signal);
  return due;
}

/** Postponement of setup: undefined if it is not possible, with `until` if setup is mandatory. */
type Later = { until: Date | undefined } | undefined;

/** Returns the postponement of setup; undefined if the deadline has passed. */
async function postponementOf(parts: StepParts, account: Account): Promise<Later> {
  if (ruleFor(parts, account) !== 'required' || (await hasSecondFactor(parts, account))) return { until: undefined };
  const due = (account.factorsDue ?? 0) * 1000;
  return due > parts.services.now().getTime() ? { until: new Date(due) } : undefined;
}

/** Refuses a login after the deadline: a stolen password must not set up a factor. */
function refuseOverdue({ services, views }: StepParts, visit: Visit, account: Account): Page {
  services.audit.record({ audit: 'LoginFailed', ...aboutUser(visit, account), outcome: 'failure', reason: 'FactorRequired' });
  visit.ctx.status = 403;
  return overduePage(textsOf({ views }, visit), views.consoleURL);
}

/** Reports whether users can set up passkeys, and log in by them without a password. */
export const offersPasskeys = (parts: StepParts): parts is StepParts & { passkeys: PasskeyParts } =>
  hasPasskeys(parts) && isOffered(parts, 'passkey');

const isOffered = (parts: StepParts, kind: FactorKind): boolean =>
  parts.factors !== undefined && (kind === 'totp' || hasPasskeys(parts)) && kindsOf(parts.services.config).includes(kind);

/** Returns the kind of factor that the form sets up: the form for an app has its secret. */
const kindIn = ({ secret }: Progress): FactorKind => (secret === undefined ? 'passkey' : 'totp');

interface SetUpForm {
  progress: Progress;
  later: Later;
}

/**
 * Returns the page that asks the user to set up a factor. The default is an app, because a page cannot tell whether the browser supports
 * passkeys.
 *
 * @throws StatusError 503, 504; InvalidRequest for a kind that is turned off
 */
export async function showSetUpForm(parts: StepParts, visit: FormVisit, form: SetUpForm, kind?: FactorKind): Promise<Page> {
  const chosen = kind ?? (isOffered(parts, 'totp') ? 'totp' : 'passkey');
  if (chosen === 'passkey' && offersPasskeys(parts)) return passkeyForm(parts, visit, form);
  if (chosen === 'totp' && isOffered(parts, 'totp')) return appForm(parts, visit, form);
  throw new errors.InvalidRequest(
    chosen === 'totp' ? 'apps are off' : 'passkeys are off, or browsers have none: they want https and a name',
  );
}

/** Shows the secret for an app: a new one, or the same after a wrong code. */
function appForm(parts: StepParts, visit: FormVisit, { progress, later }: SetUpForm, isWrong = false): Page {
  const { secret = parts.factors?.newSecret() ?? '' } = progress;
  const proof = parts.progress.seal({ ...progress, secret }, 'newFactor');
  const url = totpURL(secret, { issuer: parts.views.title, label: progress.email });
  const mayBePasskey = offersPasskeys(parts);
  return setUpPage(textsOf(parts, visit), { proof, isWrong, secret, url, later, mayBePasskey, formTargets: formTargetsOf(visit) });
}

/** Asks the browser to create a passkey. @throws StatusError 503, 504 */
async function passkeyForm(
  parts: StepParts & { passkeys: PasskeyParts },
  visit: FormVisit,
  { progress: { secret: _unused, ...progress }, later }: SetUpForm,
  problem?: Exclude<SetUp, 'added' | 'overtaken'>,
): Promise<Page> {
  const { challenges, passkeys } = parts.passkeys;
  const { text, sealed } = challenges.give(visit.interaction.uid, progress.uid);
  const options = await passkeys.creationOptions(progress, text, parts.views.title);
  const proof = parts.progress.seal(progress, 'newFactor');
  const mayBeApp = isOffered(parts, 'totp');
  const form = { proof, passkey: { challenge: sealed, options }, problem, later, mayBeApp, formTargets: formTargetsOf(visit) };
  return passkeyPage(textsOf(parts, visit), form);
}

interface GivenFactor extends SetUpForm {
  account: Account;
  form: URLSearchParams;
  /** Called once the factor is verified, before it is written. Default: always. */
  mayAdd?: () => Promise<boolean>;
}

/**
 * Handles the form with a new factor.
 *
 * @returns `added`, `overtaken` if `mayAdd` returned false, or the page that asks again
 * @throws StatusError 503, 504
 */
export async function takeNewFactor(parts: StepParts, visit: FormVisit, given: GivenFactor): Promise<'added' | 'overtaken' | Page> {
  const kind = kindIn(given.progress);
  const instead = given.form.get('instead');
  if (instead === 'totp' || instead === 'passkey') return showSetUpForm(parts, visit, given, instead);
  if (!isOffered(parts, kind)) return showSetUpForm(parts, visit, given);
  return kind === 'totp' ? takeApp(parts, visit, given) : takePasskey(parts, visit, given);
}

async function takeApp(parts: StepParts, visit: FormVisit, given: GivenFactor): Promise<'added' | 'overtaken' | Page> {
  const { progress, account, form, mayAdd } = given;
  const { secret = '' } = progress;
  const code = form.get('code') ?? '';
  const outcome = await parts.factors?.addTOTP(account, { secret, code }, auditOrigin(visit.ctx), mayAdd);
  if (outcome === 'added' || outcome === 'overtaken') return outcome;
  visit.ctx.status = 422;
  return appForm(parts, visit, given, true);
}

async function takePasskey(parts: StepParts, visit: FormVisit, given: GivenFactor): Promise<'added' | 'overtaken' | Page> {
  if (!offersPasskeys(parts)) throw staleForm();
  const { progress, account, form, mayAdd } = given;
  const { passkeys } = parts.passkeys;
  const proof = await passkeyIn(parts, visit, form, progress.uid);
  const outcome = proof === undefined ? 'refused' : await passkeys.add(account, proof, nameIn(form), auditOrigin(visit.ctx), mayAdd);
  if (outcome === 'added' || outcome === 'overtaken') return outcome;
  visit.ctx.status = outcome === 'refused' ? 422 : 409;
  return passkeyForm(parts, visit, given, outcome);
}

const maxNameLength = 64;

/** Returns the name that the user chose for a passkey. */
const nameIn = (form: URLSearchParams): string => cleaned(form.get('name') ?? '').slice(0, maxNameLength);

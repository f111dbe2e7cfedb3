import type { Seal } from '@atrium/http/seal.ts';
import { StatusError } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import type { InteractionResults, default as Provider } from 'oidc-provider';
import { z } from 'zod';
import { auditOrigin } from '../audit/audit.ts';
import type { PasskeyLogin } from '../factors/passkey-login.ts';
import type { PasskeyProof, Passkeys } from '../factors/passkeys.ts';
import { byPassword, type Means, type SecondFactors } from '../factors/second-factors.ts';
import type { Services } from '../services.ts';
import type { Texts } from '../texts/texts.ts';
import type { KnownBrowsers } from '../users/logins/known-browsers.ts';
import type { Notices } from '../users/logins/notices.ts';
import type { PasswordChange } from '../users/passwords/change.ts';
import type { Account } from '../users/record/account.ts';
import type { LocalGroupLookup } from '../users/record/local-groups.ts';
import type { AccountLookup } from '../users/record/lookup.ts';
import { noticeType } from '../users/record/schema.ts';
import type { Challenges } from './challenges.ts';
import { errors } from './oidc-provider.ts';
import type { Page } from './page.ts';
import { originsOf, type Views } from './views.ts';

/** Lifetimes of the forms in seconds: choosing a password takes time. */
const secondsOf = { factor: 300, notices: 600, newFactor: 300, codes: 300, newPassword: 600 };
/** Step of a login after the password. */
export type StepName = keyof typeof secondsOf;

/** Proofs of a user at the login page so far, and the next form. */
const progressSchema = z.object({
  /** Visit in which the proofs are valid. */
  interaction: z.string(),
  step: z.enum(['factor', 'notices', 'newFactor', 'codes', 'newPassword']),
  email: z.string(),
  name: z.string(),
  uid: z.string(),
  /** Value in the record when the password was given: a later password change invalidates the progress. */
  sessionsNotBefore: z.number().exactOptional(),
  passwordChangedAt: z.string(),
  amr: z.array(z.string()),
  acr: z.string(),
  /** A factor that was set up in this visit is not required in it. */
  hasSetUp: z.literal(true).exactOptional(),
  /** Notices in the record when the password was given, without those that this visit causes. */
  notices: z.array(z.object({ type: noticeType, time: z.string() })).exactOptional(),
  /** Secret of the app that is being set up. */
  secret: z.string().exactOptional(),
  /** Unix seconds. */
  exp: z.number(),
});
export type Progress = Readonly<z.output<typeof progressSchema>>;

/**
 * Seals the previous proofs into each form, so that users do not type them again, no page contains them, and no step can be skipped: only
 * the previous step issues the form of a later step.
 */
export class LoginProgress {
  readonly #seal: Seal;
  readonly #now: () => Date;

  constructor(seal: Seal, now: () => Date) {
    this.#seal = seal;
    this.#now = now;
  }

  /** Begins after the correct password, or a passkey in its place. */
  begin(interaction: string, account: Account, passwordChangedAt: string, means = byPassword): Progress {
    const { name, uid, email, sessionsNotBefore, notices } = account;
    const since = sessionsNotBefore !== undefined && { sessionsNotBefore };
    const told = notices !== undefined && { notices: [...notices] };
    return { interaction, step: 'factor', email, name, uid, ...since, passwordChangedAt, ...copyOf(means), ...told, exp: 0 };
  }

  /** @returns the sealed progress for the form of the step; @throws StatusError 503 while there is no key */
  seal(progress: Progress, step: StepName): string {
    const exp = Math.floor(this.#now().getTime() / 1000) + secondsOf[step];
    return this.#seal.seal(JSON.stringify({ ...progress, step, exp }));
  }

  /** Opens a sealed progress; undefined for another visit, or after expiry. @throws StatusError 503 while there is no key */
  async open(sealed: string, interaction: string): Promise<Progress | undefined> {
    const text = await this.#seal.open(sealed);
    const progress = text === undefined ? undefined : progressSchema.safeParse(JSON.parse(text)).data;
    const isCurrent = progress?.interaction === interaction && this.#now().getTime() / 1000 < progress.exp;
    return isCurrent ? progress : undefined;
  }
}

export const proving = (progress: Progress, means: Means): Progress => ({ ...progress, ...copyOf(means) });

const copyOf = ({ amr, acr }: Means) => ({ amr: [...amr], acr });

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
  if (account?.uid !== uid || account.sessionsNotBefore !== sessionsNotBefore) throw staleForm();
  return account;
}

/** @returns the error for a form of another visit, or from before the last password change */
export const staleForm = () => new errors.SessionNotFound('the password was given elsewhere, or too long ago');

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

type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>;

/** Visit to a page with forms: the login page, or a one-time link. */
export interface FormVisit {
  readonly ctx: Context;
  readonly interaction: {
    /** Identifies the visit: sealed values of a form are valid in this visit only. */
    readonly uid: string;
    readonly params: Readonly<Record<string, unknown>>;
  };
  /** Keeps the path of the page out of the Referer header, also for this service. */
  readonly isSecretAddress?: true;
}

/**
 * Refuses a form of another site: by Fetch Metadata if the browser sends it, else by Origin. Requests without either header are accepted:
 * a login form needs a cookie, which browsers do not send with forms of other sites (SameSite=Lax).
 *
 * @throws InvalidRequest 403
 */
export function checkSameOrigin(ctx: Context, origin: string): void {
  const site = ctx.get('Sec-Fetch-Site');
  const sentFrom = ctx.get('Origin');
  const isForeign = site === '' ? sentFrom !== '' && sentFrom !== origin : site !== 'same-origin' && site !== 'none';
  if (isForeign) throw new errors.InvalidRequest('the form was sent by another site', 403);
}

/** Visit to the login page, and the client that asks for the login. */
export interface Visit extends FormVisit {
  readonly interaction: Interaction;
  readonly clientID: string;
  readonly clientName: string;
  /** Host that describes an agent; '' for a configured client. */
  readonly agentHost: string;
}

export const textsOf = ({ views }: { views: Views }, { ctx, interaction }: FormVisit): Texts =>
  views.texts(ctx, interaction.params.ui_locales);

/** Returns the origins to which the forms of the visit finally lead. */
export const formTargetsOf = ({ interaction }: FormVisit): string[] => originsOf(interaction.params.redirect_uri);

export const send = ({ views }: { views: Views }, { ctx, isSecretAddress }: FormVisit, page: Page): void =>
  views.send(ctx, { ...page, ...(isSecretAddress && { isSecretAddress }) });

/** Passes the result to the provider, and redirects the browser to it. */
export async function finish({ ctx, interaction }: Visit, result: InteractionResults): Promise<void> {
  interaction.result = result;
  await interaction.persist();
  ctx.status = 303;
  ctx.redirect(interaction.returnTo);
}

export interface Unavailable {
  outcome: 'unavailable';
  status: StatusError;
}

/** Converts temporary failures (429, 503, 504) to a verdict, because the login page shows them. */
export async function orUnavailable<T>(verdict: () => Promise<T>): Promise<T | Unavailable> {
  try {
    return await verdict();
  } catch (error) {
    if (error instanceof StatusError && [429, 503, 504].includes(error.status.code)) return { outcome: 'unavailable', status: error };
    throw error;
  }
}

import type { Context } from 'koa';
import { type ClientMetadata, errors, type default as Provider } from 'oidc-provider';
import type { AccountLookup } from '../accounts/lookup.ts';
import type { PasswordCheck, PasswordVerdict } from '../accounts/password-check.ts';
import { type Audit, auditOrigin } from '../http/audit.ts';
import { readForm } from '../http/body.ts';
import { methodNotAllowed, StatusError } from '../http/status.ts';
import { subjectOf } from './account.ts';
import { consentPage, type LockRule, type LogInProblem, logInPage, passwordDuePage } from './pages.ts';
import { requestScope } from './request-scope.ts';
import { checkSameOrigin } from './same-origin.ts';
import { originsOf, type Views } from './views.ts';

const formLimitBytes = 8 * 1024;
/** How long a record that was just written may take to arrive by the watch. */
const seenWithinMs = 2_000;

export interface LogInParts {
  views: Views;
  /** Origin of the issuer. */
  origin: string;
  lock: LockRule;
  consoleClientID: string;
  accounts: AccountLookup;
  passwordCheck: Pick<PasswordCheck, 'check'>;
  audit: Audit;
}

type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>;

/** One visit to the log-in page, and whose wish it is that somebody logs in. */
interface Visit {
  ctx: Context;
  provider: Provider;
  interaction: Interaction;
  clientID: string;
  clientName: string;
}

/**
 * The page that the provider sends browsers to when it needs a person: log-in, or a go-ahead for who is logged in already.
 *
 * @throws SessionNotFound if this browser has not begun it, or too long ago
 */
export async function answerLogIn(parts: LogInParts, ctx: Context, provider: Provider, uid: string): Promise<void> {
  if (!['GET', 'HEAD', 'POST'].includes(ctx.method)) throw methodNotAllowed(ctx.method, ['GET', 'HEAD', 'POST']);
  if (ctx.method === 'POST') checkSameOrigin(ctx, parts.origin);
  const interaction = await provider.interactionDetails(ctx.req, ctx.res);
  if (interaction.uid !== uid) throw new errors.SessionNotFound('another log-in');
  const clientID = String(interaction.params.client_id);
  const client: ClientMetadata | undefined = (await provider.Client.find(clientID))?.metadata();
  const visit = { ctx, provider, interaction, clientID, clientName: client?.client_name ?? clientID };
  if (ctx.method !== 'POST') return showForm(parts, visit);
  const form = await readForm(ctx.req, formLimitBytes);
  if (form.has('cancel')) return finish(visit, { error: 'access_denied', error_description: 'the log-in was cancelled' });
  if (interaction.prompt.name === 'consent') return finish(visit, { ...interaction.lastSubmission, consent: {} });
  await logIn(parts, visit, { email: form.get('email') ?? '', password: form.get('password') ?? '' });
}

async function logIn(parts: LogInParts, visit: Visit, { email, password }: { email: string; password: string }): Promise<void> {
  const { ctx, clientID, clientName } = visit;
  const { signal } = requestScope();
  const verdict = await judge(parts, ctx, { email, password });
  if (verdict.outcome !== 'ok') return refuse(parts, visit, email, verdict);
  const { account } = verdict;
  const isConsole = clientID === parts.consoleClientID;
  if (account.mustChangePassword && !isConsole) {
    ctx.status = 403;
    return parts.views.send(ctx, passwordDuePage(textsOf(parts, visit), clientName, parts.views.consoleURL));
  }
  await parts.accounts.waitFor(account.resourceVersion, seenWithinMs, signal);
  // Of its own log-ins the console tells itself.
  if (!isConsole) {
    const { name, uid, subjectName } = account;
    parts.audit.record({
      audit: 'LoginSucceeded',
      ...auditOrigin(ctx),
      actor: { name: subjectName, uid },
      target: { name, uid },
      outcome: 'success',
    });
  }
  await finish(visit, { login: { accountId: subjectOf(account), remember: false, amr: ['pwd'] }, consent: {} });
}

type Verdict = PasswordVerdict | { outcome: 'unavailable'; status: StatusError };

async function judge({ passwordCheck }: LogInParts, ctx: Context, attempt: { email: string; password: string }): Promise<Verdict> {
  try {
    return await passwordCheck.check({ ...attempt, ...auditOrigin(ctx) }, requestScope().signal);
  } catch (error) {
    if (error instanceof StatusError && [429, 503, 504].includes(error.status.code)) return { outcome: 'unavailable', status: error };
    throw error;
  }
}

async function refuse(parts: LogInParts, visit: Visit, email: string, verdict: Exclude<Verdict, { outcome: 'ok' }>): Promise<void> {
  const { ctx } = visit;
  if (verdict.outcome === 'unavailable') {
    ctx.status = 503;
    ctx.set(verdict.status.headers);
    return showForm(parts, visit, email, { kind: 'unavailable' });
  }
  const seconds = verdict.retryAfterSeconds;
  ctx.status = seconds === undefined ? 403 : 429;
  if (seconds !== undefined) ctx.set('Retry-After', String(seconds));
  return showForm(parts, visit, email, seconds === undefined ? { kind: 'refused' } : { kind: 'tooMany', seconds });
}

const textsOf = ({ views }: LogInParts, { ctx, interaction }: Visit) => views.texts(ctx, interaction.params.ui_locales);

function showForm(parts: LogInParts, visit: Visit, email?: string, problem?: LogInProblem): void {
  const { ctx, interaction, clientName } = visit;
  const { login_hint: hint, redirect_uri: redirectURI } = interaction.params;
  const texts = textsOf(parts, visit);
  const formTargets = originsOf(redirectURI);
  const page =
    interaction.prompt.name === 'consent'
      ? consentPage(texts, clientName, formTargets)
      : logInPage(texts, {
          client: clientName === parts.views.title ? undefined : clientName,
          email: (email ?? (typeof hint === 'string' ? hint : '')).slice(0, 253),
          ...(problem && { problem }),
          lock: parts.lock,
          formTargets,
        });
  parts.views.send(ctx, page);
}

/** Goes back to where the provider waits for the answer. */
async function finish({ ctx, provider }: Visit, result: Parameters<Provider['interactionResult']>[2]): Promise<void> {
  const returnTo = await provider.interactionResult(ctx.req, ctx.res, result, { mergeWithLastSubmission: false });
  ctx.status = 303;
  ctx.redirect(returnTo);
}

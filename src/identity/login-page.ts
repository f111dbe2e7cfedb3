import { formReader } from '@atrium/http/body.ts';
import { methodNotAllowed } from '@atrium/objects/status.ts';
import type { Context } from 'koa';
import type { default as Provider } from 'oidc-provider';
import { recordOf, subjectOf } from '../users/record/subject-name.ts';
import { typedAddress } from '../users/record/typed-address.ts';
import { resultOf } from './account.ts';
import { hostOf } from './agents.ts';
import { isLoopback } from './client-documents.ts';
import { codesStep, newFactorStep } from './new-factor-step.ts';
import { errors } from './oidc-provider.ts';
import type { Page } from './page.ts';
import { agentPage, consentPage } from './pages.ts';
import { requestScope } from './request-scope.ts';
import { factorStep, type LoginPageParts, missingFactor, newPasswordStep, noticesStep, passwordStep, refuse } from './steps.ts';
import {
  aboutUser,
  checkSameOrigin,
  finish,
  formTargetsOf,
  orUnavailable,
  type Proved,
  type Step,
  type StepName,
  type StepParts,
  staleForm,
  textsOf,
  type Visit,
} from './visit.ts';

/** Steps of a login, each with the step that follows it. The last one completes the login. */
const steps: Readonly<{ password: typeof passwordStep } & Record<StepName, Step & { next: StepName | undefined }>> = {
  password: passwordStep,
  factor: { ...factorStep, next: 'notices' },
  notices: { ...noticesStep, next: 'newFactor' },
  newFactor: { ...newFactorStep, next: 'codes' },
  codes: { ...codesStep, next: 'newPassword' },
  newPassword: { ...newPasswordStep, next: undefined },
};

/**
 * Handles a form of the login page: shows the next step that the login requires, or completes the login.
 *
 * @throws SessionNotFound for a form of another visit; StatusError 429, 503, 504
 */
async function takeForm(parts: LoginPageParts, visit: Visit, form: URLSearchParams): Promise<void> {
  const proof = form.get('proof');
  const taken = proof === null ? await steps.password.take(parts, visit, form) : await takeLaterForm(parts, visit, proof, form);
  if ('content' in taken) return parts.views.send(visit.ctx, taken);
  for (let name = taken.next; name !== undefined; name = steps[name].next) {
    const page = await steps[name].show(parts, visit, taken);
    if (page !== undefined) return parts.views.send(visit.ctx, page);
  }
  return succeed(parts, visit, taken);
}

interface AcceptedInput extends Proved {
  next: StepName | undefined;
}

async function takeLaterForm(parts: LoginPageParts, visit: Visit, proof: string, form: URLSearchParams): Promise<AcceptedInput | Page> {
  const progress = await parts.progress.open(proof, visit.interaction.uid);
  if (progress === undefined) throw staleForm();
  const missing = progress.step === 'factor' ? undefined : await missingFactor(parts, visit, progress);
  if (missing !== undefined) return missing;
  const { take, next } = steps[progress.step];
  const taken = await take(parts, visit, progress, form);
  return 'content' in taken ? taken : { ...taken, next };
}

async function succeed(parts: StepParts, visit: Visit, { progress, account }: Proved): Promise<void> {
  await parts.accounts.watch.waitForWrite(account.resourceVersion, requestScope().signal);
  await parts.knownBrowsers.remember(visit.ctx, account.uid);
  // The console records its own logins.
  if (visit.clientID !== parts.consoleClientID)
    parts.services.audit.record({ audit: 'LoginSucceeded', ...aboutUser(visit, account), outcome: 'success' });
  const { amr, acr } = progress;
  // A consent that follows must not make the login later: the user may lose access meanwhile.
  const time = visit.interaction.params.resource !== undefined && { ts: Math.floor(parts.services.now().getTime() / 1000) };
  const login = { accountId: subjectOf(account), remember: false, amr, acr, ...time };
  await finish(visit, { login, consent: {}, enrol: {}, ...resultOf(account) });
}

/** Accepts the response of a passkey, which has at most 16 KiB and grows by form encoding. */
const readForm = formReader(32 * 1024);

/**
 * Answers the page to which the provider redirects browsers: login, or the consent of a user who is logged in already.
 *
 * @throws SessionNotFound if this browser did not begin the login, or the login has expired
 */
export async function answerLoginPage(parts: LoginPageParts, ctx: Context, provider: Provider, uid: string): Promise<void> {
  if (!['GET', 'HEAD', 'POST'].includes(ctx.method)) throw methodNotAllowed(ctx.method, ['GET', 'HEAD', 'POST']);
  if (ctx.method === 'POST') checkSameOrigin(ctx, parts.origin);
  const interaction = await provider.interactionDetails(ctx.req, ctx.res);
  if (interaction.uid !== uid) throw new errors.SessionNotFound('another login');
  const clientID = String(interaction.params.client_id);
  const client = await provider.Client.find(clientID);
  const agentHost = client === undefined || interaction.params.resource === undefined ? '' : hostOf(client);
  const name = client?.clientName ?? clientID;
  // An agent chooses its name itself.
  const visit = { ctx, interaction, clientID, clientName: agentHost === '' ? name : `${name} (${agentHost})`, agentHost };
  if (ctx.method !== 'POST') return parts.views.send(ctx, firstPage(parts, visit));
  const form = await readForm(ctx);
  if (form.has('cancel')) return finish(visit, { error: 'access_denied', error_description: 'the login was cancelled' });
  if (interaction.prompt.name === 'consent') return finish(visit, { ...interaction.lastSubmission, consent: consentTo(visit) });
  const outcome = await orUnavailable(() => takeForm(parts, visit, form));
  if (outcome !== undefined) parts.views.send(ctx, refuse(parts, visit, typedAddress(form.get('email') ?? ''), outcome));
}

/** Returns the result of a consent: it is for the resource of the request alone. */
const consentTo = ({ interaction: { params } }: Visit) => (params.resource === undefined ? {} : { resource: params.resource });

/** Returns the address of the user who is logged in. Without one, the provider asks for a login. */
function loggedInEmail({ accounts }: LoginPageParts, { interaction }: Visit): string {
  const subject = interaction.session?.accountId;
  return (subject === undefined ? undefined : accounts.get(recordOf(subject).name)?.email) ?? '';
}

function firstPage(parts: LoginPageParts, visit: Visit): Page {
  const { prompt, params } = visit.interaction;
  if (prompt.name !== 'consent') return steps.password.show(parts, visit);
  const asked = { client: visit.clientName, email: loggedInEmail(parts, visit), formTargets: formTargetsOf(visit) };
  if (params.resource === undefined) return consentPage(textsOf(parts, visit), asked);
  const { host, hostname } = new URL(String(params.redirect_uri));
  const returnHost = isLoopback(hostname) ? undefined : host;
  const changes = parts.services.config.mcp.direct.map(
    ({ namespaces, verbs, resources }) => `${verbs.join(', ')} ${resources.join(', ')} (${namespaces.join(', ')})`,
  );
  return agentPage(textsOf(parts, visit), { ...asked, host: visit.agentHost, returnHost, changes });
}

import type { Context } from 'koa';
import type { ClientMetadata, default as Provider } from 'oidc-provider';
import { methodNotAllowed } from '../api/status.ts';
import { formReader } from '../http/body.ts';
import { takeForm } from './login-steps.ts';
import { errors } from './oidc-provider.ts';
import { consentPage } from './pages.ts';
import { type LoginPageParts, passwordStep, refuse } from './password-step.ts';
import { checkSameOrigin } from './same-origin.ts';
import { finish, formTargetsOf, textsOf, unlessUnavailable, type Visit } from './visit.ts';

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
  const client: ClientMetadata | undefined = (await provider.Client.find(clientID))?.metadata();
  const visit = { ctx, provider, interaction, clientID, clientName: client?.client_name ?? clientID };
  if (ctx.method !== 'POST') return parts.views.send(ctx, firstPage(parts, visit));
  const form = await readForm(ctx);
  if (form.has('cancel')) return finish(visit, { error: 'access_denied', error_description: 'the login was cancelled' });
  if (interaction.prompt.name === 'consent') return finish(visit, { ...interaction.lastSubmission, consent: {} });
  const outcome = await unlessUnavailable(() => takeForm(parts, visit, form));
  if (outcome !== undefined) parts.views.send(ctx, refuse(parts, visit, form.get('email') ?? '', outcome));
}

const firstPage = (parts: LoginPageParts, visit: Visit) =>
  visit.interaction.prompt.name === 'consent'
    ? consentPage(textsOf(parts, visit), visit.clientName, formTargetsOf(visit))
    : passwordStep.show(parts, visit);

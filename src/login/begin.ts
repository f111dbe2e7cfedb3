import { hash } from 'node:crypto';
import { readBearer } from '@atrium/http/authenticator.ts';
import { newSecret } from '@atrium/http/cookies/cookies.ts';
import { badParameter, StatusError } from '@atrium/objects/status.ts';
import type { VerifiedClaims } from '@atrium/oidc-client/types.ts';
import type { Context } from 'koa';
import { type Issuer, postLogoutURLsOf, redirectURLsOf } from '../issuer/issuer.ts';
import { requireTellable } from '../issuer/issuers.ts';
import type { IssuerSettings } from '../issuer/settings.ts';
import type { SessionContext } from '../sessions/context.ts';
import type { Subject } from '../users/record/account.ts';
import { type Flow, type FlowCookies, stepUpOf } from './flow.ts';
import type { LoginInfo, LoginQuery } from './schema.ts';

/** Begins a login (docs/contract/login.md). The browser stores the flow, the service stores nothing. @throws StatusError 503 */
export async function beginLogin(context: SessionContext, flows: FlowCookies, ctx: Context, query: LoginQuery): Promise<LoginInfo> {
  const isOfCurrent = query.max_age !== undefined || query.acr_values !== undefined || query.factor !== undefined;
  const current = isOfCurrent ? await currentSubject(context, ctx) : undefined;
  const stepUp = stepUpOf(query, current);
  return beginAt(context, flows, ctx, { issuer: context.issuers.chosen(query, current?.issuer), query, ...(stepUp && { stepUp }) });
}

/** Ignores a 401: a caller with an expired token begins a login like any other. */
function ignoreRefusal(error: unknown): undefined {
  if (error instanceof StatusError && error.status.code === 401) return undefined;
  throw error;
}

/** Returns the subject of the request's session or token; undefined if it is not valid. @throws StatusError 503 */
async function currentSubject({ cookie, sessions, issuers }: SessionContext, ctx: Context): Promise<Subject | undefined> {
  const { source, signal } = ctx.state;
  const bearer = readBearer(ctx.req);
  if (bearer !== undefined) {
    const verified = await issuers.bearer(bearer).catch(ignoreRefusal);
    return verified === undefined || verified === 'not ours' ? undefined : subjectIn(verified.login.claims);
  }
  const secret = cookie.read(ctx);
  const session = secret === undefined ? undefined : await sessions.find(secret, source, signal, false);
  return session && subjectIn(session.secrets.tokens.claims);
}

const subjectIn = ({ iss, sub }: VerifiedClaims): Subject => ({ issuer: iss, sub });

interface Beginning extends Pick<Flow, 'stepUp' | 'link'> {
  issuer: Issuer;
  query: LoginQuery;
}

/** Begins a login at the given issuer, for a step-up or a further account if given. @throws StatusError 400, 503 */
export async function beginAt(
  { config, now }: SessionContext,
  flows: FlowCookies,
  ctx: Context,
  { issuer, query, ...wanted }: Beginning,
): Promise<LoginInfo> {
  const { publicURL = '' } = config.server;
  const { settings, client } = issuer;
  await requireTellable(issuer);
  const redirectURL = redirectURLFor(publicURL, { ...settings, redirectURLs: config.login.redirectURLs }, query);
  const [returnURL = ''] = postLogoutURLsOf(publicURL, settings);
  const [tokenStorage = 'cookie'] = config.login.tokenStorage;
  const startedAt = Math.floor(now().getTime() / 1000);
  const flow = newFlow({ iss: settings.issuer, redirectURL, tokenStorage, startedAt, ...wanted }, query);
  const authURL = await client.authorizationURL(authorizationParameters(flow, query, settings), ctx.state.signal);
  const logoutURL = await client.endSessionURL(returnURL === '' ? {} : { post_logout_redirect_uri: returnURL });
  flows.set(ctx, flow);
  return { auth_url: authURL, state: flow.state, ...(logoutURL !== undefined && { logout_url: logoutURL }) };
}

/** @param defaults values, some of which the query may replace */
const newFlow = (
  defaults: Pick<Flow, 'iss' | 'redirectURL' | 'tokenStorage' | 'startedAt' | 'stepUp' | 'link'>,
  query: LoginQuery,
): Flow => ({
  ...defaults,
  state: newSecret(),
  nonce: newSecret(),
  verifier: newSecret(),
  ...(query.return_to !== undefined && { returnTo: query.return_to }),
  ...(query.token_storage !== undefined && { tokenStorage: query.token_storage }),
});

/** @throws StatusError 400 for a redirect URL that this issuer may not use */
function redirectURLFor(
  publicURL: string,
  settings: Pick<IssuerSettings, 'redirectURL'> & Parameters<typeof redirectURLsOf>[1],
  { redirect_uri: asked }: LoginQuery,
): string {
  const allowed = settings.redirectURL === undefined ? redirectURLsOf(publicURL, settings) : [settings.redirectURL];
  const [redirectURL = ''] = allowed;
  if (asked !== undefined && !allowed.includes(asked)) throw badParameter('redirect_uri', 'must be the redirect URL of the issuer');
  return asked ?? redirectURL;
}

/** Returns parameters of OpenID Connect Core 3.1.2.1 and 3.2.2.1, with PKCE S256 if a code is requested (RFC 7636 section 4.3). */
function authorizationParameters(flow: Flow, query: LoginQuery, settings: IssuerSettings): Record<string, string> {
  const { scopes, responseMode, acr, id, isOneOfSeveral } = settings;
  const { prompt, login_hint, ui_locales, max_age, factor } = query;
  // The issuer does not know the ids of our configuration.
  const connector_id = isOneOfSeveral && query.connector_id === id ? undefined : query.connector_id;
  const acr_values = query.acr_values?.replaceAll(/[^ ]+/g, (value) => acr?.[value] ?? value);
  const passedOn = Object.entries({ connector_id, prompt, login_hint, ui_locales, max_age, acr_values, factor }).filter(
    (hint): hint is [string, string] => hint[1] !== undefined,
  );
  return {
    ...Object.fromEntries(passedOn),
    response_type: responseMode,
    scope: scopes.join(' '),
    redirect_uri: flow.redirectURL,
    state: flow.state,
    nonce: flow.nonce,
    ...(responseMode === 'code' && {
      code_challenge: hash('sha256', flow.verifier, 'base64url'),
      code_challenge_method: 'S256',
    }),
  };
}

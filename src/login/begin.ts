import { hash } from 'node:crypto';
import type { Context } from 'koa';
import { stateOf } from '../http/router.ts';
import { postLogoutURLsOf, redirectURLsOf } from '../issuer/redirect-urls.ts';
import type { IssuerSettings } from '../issuer/types.ts';
import type { SessionContext } from '../sessions/context.ts';
import { newSecret } from '../sessions/cookie.ts';
import type { Flow } from './flow.ts';
import type { FlowCookies } from './flow-cookie.ts';
import type { LoginInfo, LoginQuery } from './schema.ts';
import { stepUpOf } from './step-up.ts';

/** Begins a login (docs/contract/login.md): the browser gets the flow, the service keeps nothing. @throws StatusError 503 */
export async function beginLogin(context: SessionContext, flows: FlowCookies, ctx: Context, query: LoginQuery): Promise<LoginInfo> {
  const { config, now, issuers } = context;
  const { publicURL = '' } = config.server;
  const { settings, client } = issuers.first;
  const [redirectURL = ''] = redirectURLsOf(publicURL, settings);
  const [returnURL = ''] = postLogoutURLsOf(publicURL, settings);
  const [tokenStorage = 'cookie'] = config.login.tokenStorage;
  const stepUp = await stepUpOf(context, ctx, query);
  const startedAt = Math.floor(now().getTime() / 1000);
  const flow = newFlow({ iss: settings.issuer, redirectURL, tokenStorage, startedAt, ...(stepUp && { stepUp }) }, query);
  const authURL = await client.authorizationURL(authorizationParameters(flow, query, settings), stateOf(ctx).signal);
  const logoutURL = await client.endSessionURL(returnURL === '' ? {} : { post_logout_redirect_uri: returnURL });
  flows.set(ctx, flow);
  return { auth_url: authURL, state: flow.state, ...(logoutURL !== undefined && { logout_url: logoutURL }) };
}

/** @param defaults what the query need not name */
const newFlow = (defaults: Pick<Flow, 'iss' | 'redirectURL' | 'tokenStorage' | 'startedAt' | 'stepUp'>, query: LoginQuery): Flow => ({
  ...defaults,
  state: newSecret(),
  nonce: newSecret(),
  verifier: newSecret(),
  ...(query.redirect_uri !== undefined && { redirectURL: query.redirect_uri }),
  ...(query.return_to !== undefined && { returnTo: query.return_to }),
  ...(query.token_storage !== undefined && { tokenStorage: query.token_storage }),
});

/** OpenID Connect Core 3.1.2.1 and 3.2.2.1; PKCE with S256 wherever a code is asked for (RFC 7636 section 4.3). */
function authorizationParameters(flow: Flow, query: LoginQuery, { scopes, responseMode }: IssuerSettings): Record<string, string> {
  const { connector_id, prompt, login_hint, ui_locales, max_age, acr_values, factor } = query;
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

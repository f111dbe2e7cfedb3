import { hash } from 'node:crypto';
import type { Context } from 'koa';
import type { Config } from '../config/schema.ts';
import { stateOf } from '../http/router.ts';
import type { Issuer } from '../issuer/issuer.ts';
import { newSecret } from '../sessions/cookie.ts';
import type { Flow } from './flow.ts';
import type { FlowCookies } from './flow-cookie.ts';
import type { LoginInfo, LoginQuery } from './schema.ts';

export interface BeginOptions {
  issuer: Issuer;
  flows: FlowCookies;
  login: Pick<Config['login'], 'scopes' | 'responseMode' | 'tokenStorage' | 'logoutURL'>;
  /** The first is the default. */
  redirectURLs: readonly string[];
  /** Where the issuer sends browsers after a logout; the first. */
  postLogoutRedirectURLs: readonly string[];
  now: () => Date;
}

/** Begins a login (docs/contract/login.md): the browser gets the flow, the service keeps nothing. @throws StatusError 503 */
export async function beginLogin(ctx: Context, query: LoginQuery, options: BeginOptions): Promise<LoginInfo> {
  const { issuer, flows, login, postLogoutRedirectURLs } = options;
  const [returnURL] = postLogoutRedirectURLs;
  const flow = newFlow(query, options);
  const authURL = await issuer.authorizationURL(authorizationParameters(flow, query, login), stateOf(ctx).signal);
  const logoutURL =
    (await issuer.endSessionURL({ ...(returnURL !== undefined && { post_logout_redirect_uri: returnURL }) })) ?? login.logoutURL;
  flows.set(ctx, flow);
  return { auth_url: authURL, state: flow.state, ...(logoutURL !== undefined && { logout_url: logoutURL }) };
}

function newFlow(query: LoginQuery, { redirectURLs, login, now }: BeginOptions): Flow {
  const [firstURL = ''] = redirectURLs;
  const [firstStorage = 'cookie'] = login.tokenStorage;
  return {
    state: newSecret(),
    nonce: newSecret(),
    verifier: newSecret(),
    redirectURL: query.redirect_uri ?? firstURL,
    ...(query.return_to !== undefined && { returnTo: query.return_to }),
    tokenStorage: query.token_storage ?? firstStorage,
    startedAt: Math.floor(now().getTime() / 1000),
  };
}

/** OpenID Connect Core 3.1.2.1 and 3.2.2.1; PKCE with S256 wherever a code is asked for (RFC 7636 section 4.3). */
function authorizationParameters(flow: Flow, query: LoginQuery, { scopes, responseMode }: BeginOptions['login']): Record<string, string> {
  const { connector_id, prompt, login_hint, ui_locales } = query;
  const passedOn = Object.entries({ connector_id, prompt, login_hint, ui_locales }).filter(
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

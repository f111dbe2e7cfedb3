import { expect } from 'chai';
import { Browser, loginInfoOf, type Reply, userInfoOf } from '../../service/login/provider/browser.ts';
import { sessionCookieOf, sessionPath } from '../../service/sessions/support.ts';
import type { Keycloak } from './keycloak.ts';
import { asksForPassword, KeycloakBrowser, type Page } from './page.ts';
import { consoleURL, type Person, password } from './realm.ts';
import type { Service } from './suite.ts';

export const sessionCookie = sessionCookieOf(consoleURL);

export interface LogIn {
  keycloak: Keycloak;
  person: Person;
  storage?: 'cookie' | 'local';
  /** Browser with cookies of Keycloak. */
  issuer?: KeycloakBrowser;
}

/** A login of a user at the console, with the answers of Keycloak. */
export interface Visit {
  /** Browser at the console. */
  browser: Browser;
  /** Browser at Keycloak. */
  issuer: KeycloakBrowser;
  authURL: URL;
  /** True if Keycloak required the password. */
  wasAsked: boolean;
  /** Parameters that Keycloak passed to the redirect URL. */
  answer: URLSearchParams;
  callback: Reply;
}

/** Logs in a user, from the login button to UserInfo. */
export async function visit(
  service: Service,
  { keycloak, person, storage = 'cookie', issuer = new KeycloakBrowser(keycloak) }: LogIn,
): Promise<Visit> {
  const browser = new Browser(service.url);
  const authURL = new URL(loginInfoOf(await browser.login('v2', { token_storage: storage })).auth_url);
  const page = await issuer.get(authURL);
  const wasAsked = asksForPassword(page);
  const answer = answerOf(wasAsked ? await issuer.submit(page, { username: person.username, password }) : page);
  return { browser, issuer, authURL, wasAsked, answer, callback: await browser.callback('v2', answer) };
}

/** Logs in and requires success. `refreshToken` is the handle of the session if the session stores the tokens. */
export async function logIn(service: Service, options: LogIn) {
  const visited = await visit(service, options);
  expect(visited.callback.status, visited.callback.text).to.equal(200);
  const user = userInfoOf(visited.callback);
  const { access_token: bearer = '', refresh_token: refreshToken = '' } = user.ext.token ?? {};
  const secret = visited.browser.cookies.get(sessionCookie) ?? '';
  return { ...visited, user, bearer, refreshToken, sessionPath: sessionPath(secret) };
}

/** Returns the parameters in the address of the redirect URL. */
export function answerOf({ url, answer }: Page): URLSearchParams {
  if (answer !== undefined)
    throw new Error(`Keycloak shows a page: ${answer.status} ${answer.text.replace(/<[^>]*>|\s+/g, ' ').slice(0, 2000)}`);
  const given = new URLSearchParams(url.hash === '' ? url.search : url.hash.slice(1));
  // The page passes on both. An ID token may come without a code.
  if (given.has('id_token') && !given.has('code')) given.set('code', '');
  return given;
}

/** Lists users with the session of a browser, or with a bearer token. */
export const listUsers = (browser: Browser, bearer?: string): Promise<Reply> =>
  browser.request('/auth/v2/users', bearer === undefined ? {} : { headers: { authorization: `Bearer ${bearer}` } });

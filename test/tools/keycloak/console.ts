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
  /** With the cookies that it has at Keycloak. */
  issuer?: KeycloakBrowser;
}

/** A person at their console, and what they came with from Keycloak. */
export interface Visit {
  /** Where the console is open. */
  browser: Browser;
  /** Where Keycloak is. */
  issuer: KeycloakBrowser;
  authURL: URL;
  /** Whether Keycloak wanted the password. */
  wasAsked: boolean;
  /** What Keycloak gave to the page at the redirect URL. */
  answer: URLSearchParams;
  callback: Reply;
}

/** The way of a person from the login button to UserInfo. */
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

/** The same, when it leads to UserInfo. `refreshToken` is the handle of the session where that keeps the tokens. */
export async function logIn(service: Service, options: LogIn) {
  const visited = await visit(service, options);
  expect(visited.callback.status, visited.callback.text).to.equal(200);
  const user = userInfoOf(visited.callback);
  const { access_token: bearer = '', refresh_token: refreshToken = '' } = user.ext.token ?? {};
  const secret = visited.browser.cookies.get(sessionCookie) ?? '';
  return { ...visited, user, bearer, refreshToken, sessionPath: sessionPath(secret) };
}

/** What the page at the redirect URL finds in its address. */
export function answerOf({ url, answer }: Page): URLSearchParams {
  if (answer !== undefined)
    throw new Error(`Keycloak shows a page: ${answer.status} ${answer.text.replace(/<[^>]*>|\s+/g, ' ').slice(0, 2000)}`);
  const given = new URLSearchParams(url.hash === '' ? url.search : url.hash.slice(1));
  // The page passes on both; a pure ID token comes without a code.
  if (given.has('id_token') && !given.has('code')) given.set('code', '');
  return given;
}

/** As the session of that browser, or with that token. */
export const listUsers = (browser: Browser, bearer?: string): Promise<Reply> =>
  browser.request('/auth/v2/users', bearer === undefined ? {} : { headers: { authorization: `Bearer ${bearer}` } });

/** Login of this browser: a session that the service stores, and renews while it is used. */
import { isReturnPath } from '@atrium/http/return-path.ts';
import { signal } from '@preact/signals';
import { api, base, bodyOf, Refusal, refusals, resumed, type Schemas, storageKey } from '../api/client';
import { forgetLoads } from '../api/load';
import { untilDone } from '../api/outage';
import { asProblem, Problem, type StepUp } from '../api/problem';
import type { paths } from '../api/schema';
import { forgetView, stopView, viewed } from '../api/view';
import { tellTabs } from './tabs';

export type Person = Schemas['UserInfo'];

/**
 * Logout requires the handle of the session, which only the response to a login contains. The handle is no credential: it is worthless
 * without the cookie, which scripts cannot read.
 */
const handleKey = storageKey('session-handle');
/** The `state` of a logout that this tab has requested from the identity provider. */
const logoutKey = storageKey('logout');
/** Marks a tab that was opened to log in, beside a page whose session has ended. */
const againKey = 'atrium-again';

/** Id of the issuer of this browser's last login, if there are several. The next login uses it, too. */
const issuerKey = storageKey('issuer');
/** Page of this tab when a logged-in user left for an issuer. The redirect after a refusal does not contain it. */
const leftKey = storageKey('left');
/** Marks a tab that left for a fresher login before an action was done. */
const undoneKey = storageKey('undone');

export const person = signal<Person>();
/** True once the session has ended. The page with its forms is still shown. */
export const hasEnded = signal(false);
/** Problem of a login, for the start page. */
export const loginProblem = signal<Problem>();
export const wasCancelled = signal(false);
/** Problem of a login or of linking an account, if the user is still logged in. */
export const problemAside = signal<Problem | 'cancelled'>();
/** True while the password must be changed, and nothing else is allowed. */
export const isPasswordDue = signal(false);

/** Returns the end of a session that is not used any more. Use puts it off, up to `spec.expiration`. */
export const endOf = ({ spec }: Schemas['Session']): string => spec.idleExpiration ?? spec.expiration;

/** Requirements of a login beyond the identity of the user. */
type Wanted = StepUp & Pick<NonNullable<paths['/api/v2/token/login']['get']['parameters']['query']>, 'prompt' | 'factor' | 'issuer'>;

/** Leaves the page for that of the identity provider. */
export async function logIn(returnTo = location.pathname + location.search + location.hash, wanted: Wanted = {}): Promise<void> {
  const remembered = atIssuer(wanted);
  const given = { ...(isReturnPath(returnTo) && { return_to: returnTo }), ...redirection(), ...remembered, ...wanted };
  const parameters = { token_storage: 'cookie' as const, ...given };
  try {
    const { auth_url: address } = await bodyOf(api.GET('/api/v2/token/login', { params: { query: parameters } }));
    goTo(address);
  } catch (error) {
    if (remembered.issuer === undefined || !isUnknownIssuer(error)) throw error;
    localStorage.removeItem(issuerKey);
    await logIn(returnTo, wanted);
  }
}

/** Recognises the refusal of an issuer that has been removed since the last login. */
const isUnknownIssuer = (error: unknown): boolean =>
  error instanceof Problem && error.status === 400 && error.causes.some(({ field }) => field === 'issuer');

/** Leaves for the page of an issuer, which redirects back here. */
export function goTo(address: string): void {
  const back = new URL(new URL(address).searchParams.get('redirect_uri') ?? location.href);
  // The cookie of the login flow belongs to this host: another host would not receive it.
  if (back.origin !== location.origin) throw new Problem(0, { reason: 'WrongAddress', message: `${back.origin}${back.pathname}` });
  const { pathname, search, hash } = location;
  const isAgain = new URLSearchParams(search).has(againKey);
  if (person.value !== undefined && !isAgain) sessionStorage.setItem(leftKey, pathname + search + hash);
  location.assign(address);
}

/**
 * Remembers a chosen issuer, and adds the remembered one to a login without requirements. A step-up goes to the issuer of the session,
 * which the service knows.
 */
function atIssuer(wanted: Wanted): Wanted {
  if (wanted.issuer !== undefined) localStorage.setItem(issuerKey, wanted.issuer);
  const issuer = Object.keys(wanted).length === 0 ? localStorage.getItem(issuerKey) : null;
  return issuer === null ? {} : { issuer };
}

/** The development server has its own address. */
const redirection = () => (import.meta.env.DEV ? { redirect_uri: base.href } : {});

/** Logs in again in a new tab that closes itself, or in this tab if the browser opens none. */
export async function logInAgain(wanted: StepUp = {}): Promise<void> {
  const tab = window.open(new URL(`?${new URLSearchParams({ [againKey]: '', ...wanted })}`, base).href, '_blank');
  if (tab !== null) return;
  if (Object.keys(wanted).length > 0) sessionStorage.setItem(undoneKey, '1');
  await logIn(undefined, wanted);
}

/** Reports once that this tab has returned from a login that interrupted an action, which was not done. */
export function takeUndone(): boolean {
  const isUndone = sessionStorage.getItem(undoneKey) !== null;
  sessionStorage.removeItem(undoneKey);
  return isUndone;
}

/** Continues to the login in a tab that was opened for it. The redirect back does not contain the requirements. */
async function goOnToLogin(): Promise<void> {
  const visit = new URLSearchParams(location.search);
  if (!visit.has(againKey)) return;
  const wanted = Object.fromEntries([...visit].filter(([name]) => name === 'max_age' || name === 'acr_values'));
  if (person.value === undefined || Object.keys(wanted).length > 0) await logIn(`${base.pathname}?${againKey}`, wanted);
}

/**
 * Completes a login or logout for which the identity provider has redirected the browser here, then loads the user. An outage ends no
 * session.
 *
 * @param onOutage called while the user cannot be loaded
 */
export async function startSession(onOutage: () => void): Promise<void> {
  refusals.addEventListener('refusal', (event) => {
    if (event instanceof Refusal) void onRefusal(event.problem);
  });
  const left = sessionStorage.getItem(leftKey);
  sessionStorage.removeItem(leftKey);
  const problem = await finishVisit().then(() => undefined, asProblem);
  try {
    if (person.value === undefined) await untilDone(readPerson, onOutage);
    if (problem === undefined && !wasCancelled.value) return await goOnToLogin();
  } catch (error) {
    loginProblem.value = asProblem(error);
  }
  stayAt(left, problem);
}

/** Handles a login that failed: users who are still logged in return to their page, all others see the start page. */
function stayAt(left: string | null, problem: Problem | undefined): void {
  if (person.value === undefined) {
    loginProblem.value ??= problem;
    return;
  }
  if (problem !== undefined || wasCancelled.value) problemAside.value = problem ?? 'cancelled';
  wasCancelled.value = false;
  if (left !== null) history.replaceState(null, '', left);
}

async function finishVisit(): Promise<void> {
  const asked = sessionStorage.getItem(logoutKey);
  sessionStorage.removeItem(logoutKey);
  const response = takeResponse();
  if (response === undefined) return;
  // The redirect of a logout has its state and nothing else.
  const isLogin = ['code', 'id_token', 'error'].some((name) => response.has(name));
  if (isLogin) await finishLogin(response);
  else if (asked !== null && response.get('state') === asked) await endSession();
}

async function finishLogin(response: URLSearchParams): Promise<void> {
  const parameters = Object.fromEntries(response) as { code: string; state: string };
  try {
    // The service also receives a refusal: it ends the flow.
    const { ext, ...info } = await bodyOf(api.GET('/api/v2/token/callback', { params: { query: parameters } }));
    const { token, ...more } = ext;
    const { return_to: returnTo } = more;
    if (token?.refresh_token !== undefined) localStorage.setItem(handleKey, token.refresh_token);
    if (returnTo !== undefined) history.replaceState(null, '', returnTo);
    become({ ...info, ext: more });
    tellTabs({ kind: 'login', uid: info.uid });
    if (returnTo?.endsWith(`?${againKey}`)) window.close();
  } catch (error) {
    if (!(error instanceof Problem && error.has('access_denied'))) throw error;
    wasCancelled.value = true;
  }
}

/**
 * Takes the parameters of the redirect from the query or, with `responseMode: id_token`, from the fragment. They are removed from the
 * address before they are used, so that neither a reload nor the history sends them again.
 */
function takeResponse(): URLSearchParams | undefined {
  const parts = [location.search, location.hash].map((part) => new URLSearchParams(part.slice(1)));
  const response = parts.find((part) => part.has('state'));
  if (response === undefined) return undefined;
  history.replaceState(null, '', location.pathname);
  if (response.has('id_token') && !response.has('code')) response.set('code', '');
  return response;
}

function become(next: Person): void {
  // A login as another user ends the view.
  if (viewed.peek() !== undefined && viewed.peek()?.by !== next.name) {
    stopView();
    return;
  }
  person.value = next;
  isPasswordDue.value = next.ext.must_change_password === true;
  if (hasEnded.value) resumed.value += 1;
  hasEnded.value = false;
}

const hasHandle = (): boolean => localStorage.getItem(handleKey) !== null;

/** Reports whether this is a page of a logged-in user, as far as the browser knows: neither a login nor the return from one. */
export function isVisit(): boolean {
  const parameters = new URLSearchParams(location.search);
  return hasHandle() && !parameters.has('state') && !parameters.has(againKey) && !location.hash.includes('state=');
}

/** Loads the logged-in user. Without a handle there is no session to load. */
export async function readPerson(): Promise<void> {
  if (!hasHandle()) return forget();
  try {
    become(await bodyOf(api.GET('/api/v2/token/info')));
  } catch (error) {
    if (!isOver(error)) throw error;
    forget();
  }
}

/** Reports whether the service states that the session has ended. */
const isOver = (error: unknown): error is Problem => error instanceof Problem && error.status === 401;

let isAsking = false;

/** Checks after a refusal whether the session still exists: it can end at any time and anywhere. */
async function onRefusal(problem: Problem): Promise<void> {
  if (problem.has('PasswordChangeRequired')) isPasswordDue.value = true;
  const before = person.value;
  if (problem.status !== 401 || before === undefined || hasEnded.value || isAsking) return;
  isAsking = true;
  try {
    await api.GET('/api/v2/token/info');
  } catch (error) {
    if (isOver(error)) hasEnded.value = true;
  } finally {
    isAsking = false;
  }
}

/** Follows a login in another tab. The same user continues; for another user the page is reloaded. */
export async function followLogin(uid: string): Promise<void> {
  if (person.value !== undefined && person.value.uid !== uid) location.reload();
  else await untilDone(readPerson);
}

/**
 * Logs out. The service's own identity provider asks for confirmation first, and users who stay keep the session. With any other provider
 * the session ends before the redirect, since it has to end even if the provider does not answer.
 */
export async function logOut(): Promise<void> {
  const next = (await questionAddress()) ?? (await endSession());
  if (next !== undefined) location.assign(next);
}

async function questionAddress(): Promise<string | undefined> {
  if (person.value?.ext.issuer !== `${base.href}identity`) return undefined;
  const { logout_url: address } = await bodyOf(api.GET('/api/v2/token/login', { params: { query: { token_storage: 'cookie' } } }));
  const url = address === undefined ? undefined : new URL(address);
  if (url?.searchParams.get('post_logout_redirect_uri') !== base.href) return undefined;
  const state = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
  sessionStorage.setItem(logoutKey, state);
  url.searchParams.set('state', state);
  return url.href;
}

/** @returns the address at which the identity provider ends its own session, if it has one */
async function endSession(): Promise<string | undefined> {
  try {
    const { response, data } = await api.POST('/api/v2/token/logout', {
      body: { refresh_token: localStorage.getItem(handleKey) ?? '' },
      bodySerializer: (body) => new URLSearchParams(body as Record<string, string>),
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    });
    forget();
    tellTabs({ kind: 'logout' });
    return withHint(/<([^>]*)>\s*;\s*rel="?logout"?/.exec(response.headers.get('Link') ?? '')?.[1], data?.id_token);
  } catch (error) {
    // Without a handle, or with an old one, there is no session to end.
    if (!isOver(error) && !(error instanceof Problem && error.status === 400)) throw error;
    forget();
    tellTabs({ kind: 'logout' });
    return undefined;
  }
}

/** Length of addresses that servers commonly accept. */
const maxAddressLength = 8_000;

/** @param idToken that did not fit into a header of the service */
function withHint(address: string | undefined, idToken: string | undefined): string | undefined {
  if (address === undefined || idToken === undefined) return address;
  const url = new URL(address);
  url.searchParams.set('id_token_hint', idToken);
  return url.href.length > maxAddressLength ? address : url.href;
}

/** Forgets the session after a logout in this tab or another. */
export function forget(): void {
  localStorage.removeItem(handleKey);
  forgetView();
  forgetLoads();
  person.value = undefined;
  hasEnded.value = false;
}

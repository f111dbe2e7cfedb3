/** The login of this browser: a session that the service keeps, and renews by itself while it is used. */
import { signal } from '@preact/signals';
import { api, base, bodyOf, Refusal, refusals, resumed, type Schemas, storageKey } from '../api/client';
import { forgetLoads } from '../api/load';
import { asProblem, Problem, type StepUp } from '../api/problem';
import type { paths } from '../api/schema';
import { tellTabs } from './tabs';

export type Person = Schemas['UserInfo'];

/**
 * Logout wants to be shown the session's handle, and only the end of a login tells it. It is no credential: without the cookie, which
 * no script can read, it is worth nothing.
 */
const handleKey = storageKey('session-handle');
/** The `state` of a logout that this tab has asked the identity provider for. */
const logoutKey = storageKey('logout');
/** A login in a tab of its own, beside a page whose session has ended. */
const againKey = 'atrium-again';

/** The id of the issuer that the last login of this browser was at, where there are several: the next one after the end is there, too. */
const issuerKey = storageKey('issuer');
/** Where this tab was when its user, who was logged in, left for an issuer: the way back of a refusal does not say. */
const leftKey = storageKey('left');
/** Tells this tab, which has left for a fresher login, that something was left undone. */
const undoneKey = storageKey('undone');

const maxReturnLength = 2048;
/** As the service has it: one leading slash, no other beside it, no backslash, no control character. */
const returnPath = /^\/(?:[\x21-\x2e\x30-\x5b\x5d-\x7e]+\/)*[\x21-\x2e\x30-\x5b\x5d-\x7e]*$/;

export const person = signal<Person>();
/** The session is over, and the page with its forms still stands. */
export const hasEnded = signal(false);
/** What went wrong with a login, for the start page. */
export const loginProblem = signal<Problem>();
export const wasCancelled = signal(false);
/** The same of a login, or of an account to be linked, that a user left for who is logged in still. */
export const problemAside = signal<Problem | 'cancelled'>();
/** A password is due, and nothing else is allowed until it is changed. */
export const isPasswordDue = signal(false);

/** What is wanted of a login beside who it is. */
type Wanted = StepUp & Pick<NonNullable<paths['/api/v2/token/login']['get']['parameters']['query']>, 'prompt' | 'factor' | 'issuer'>;

/** Leaves the page for the identity provider's. */
export async function logIn(returnTo = location.pathname + location.search + location.hash, wanted: Wanted = {}): Promise<void> {
  const isReturnable = returnTo.length <= maxReturnLength && returnPath.test(returnTo);
  const given = { ...(isReturnable && { return_to: returnTo }), ...redirection(), ...atIssuer(wanted), ...wanted };
  const parameters = { token_storage: 'cookie' as const, ...given };
  const { auth_url: address } = await bodyOf(api.GET('/api/v2/token/login', { params: { query: parameters } }));
  goTo(address);
}

/** Leaves for the page of an issuer, which leads back here. */
export function goTo(address: string): void {
  const back = new URL(new URL(address).searchParams.get('redirect_uri') ?? location.href);
  // The cookie of the flow is this host's: at another one it would be missing.
  if (back.origin !== location.origin) throw new Problem(0, { reason: 'WrongAddress', message: `${back.origin}${back.pathname}` });
  const { pathname, search, hash } = location;
  const isAgain = new URLSearchParams(search).has(againKey);
  if (person.value !== undefined && !isAgain) sessionStorage.setItem(leftKey, pathname + search + hash);
  location.assign(address);
}

/** What is wanted of the login that there is goes to its issuer: the service knows which. */
function atIssuer(wanted: Wanted): Wanted {
  if (wanted.issuer !== undefined) localStorage.setItem(issuerKey, wanted.issuer);
  const issuer = Object.keys(wanted).length === 0 ? localStorage.getItem(issuerKey) : null;
  return issuer === null ? {} : { issuer };
}

/** The development server has an address of its own. */
const redirection = () => (import.meta.env.DEV ? { redirect_uri: base.href } : {});

/** Logs in beside this page, in a tab that closes itself. Where the browser opens none, in this one. */
export async function logInAgain(wanted: StepUp = {}): Promise<void> {
  const tab = window.open(new URL(`?${new URLSearchParams({ [againKey]: '', ...wanted })}`, base).href, '_blank');
  if (tab !== null) return;
  if (Object.keys(wanted).length > 0) sessionStorage.setItem(undoneKey, '1');
  await logIn(undefined, wanted);
}

/** This tab has come back from a login in the midst of something, which was not done. It is told once. */
export function takeUndone(): boolean {
  const isUndone = sessionStorage.getItem(undoneKey) !== null;
  sessionStorage.removeItem(undoneKey);
  return isUndone;
}

/** A tab that was opened for a login goes there; the way back does not say what was wanted. */
async function goOnToLogin(): Promise<void> {
  const visit = new URLSearchParams(location.search);
  if (!visit.has(againKey)) return;
  const wanted = Object.fromEntries([...visit].filter(([name]) => name === 'max_age' || name === 'acr_values'));
  if (person.value === undefined || Object.keys(wanted).length > 0) await logIn(`${base.pathname}?${againKey}`, wanted);
}

/** Ends a login or logout that the identity provider has sent the browser here from; then asks who is logged in. */
export async function startSession(): Promise<void> {
  refusals.addEventListener('refusal', (event) => {
    if (event instanceof Refusal) void onRefusal(event.problem);
  });
  const left = sessionStorage.getItem(leftKey);
  sessionStorage.removeItem(leftKey);
  const problem = await finishVisit().then(() => undefined, asProblem);
  try {
    if (person.value === undefined) await readPerson();
    if (problem === undefined && !wasCancelled.value) return await goOnToLogin();
  } catch (error) {
    loginProblem.value = asProblem(error);
  }
  stayAt(left, problem);
}

/** After a login that was none: who is logged in is where they were, and all others are on the start page. */
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
  // A logout comes back with its state and nothing else.
  const isLogin = ['code', 'id_token', 'error'].some((name) => response.has(name));
  if (isLogin) await finishLogin(response);
  else if (asked !== null && response.get('state') === asked) await endSession();
}

async function finishLogin(response: URLSearchParams): Promise<void> {
  const parameters = Object.fromEntries(response) as { code: string; state: string };
  try {
    // The service is told of a refusal too: it ends the flow.
    const { ext, ...info } = await bodyOf(api.GET('/api/v2/token/callback', { params: { query: parameters } }));
    const { token, return_to: returnTo, ...more } = ext;
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
 * What the browser was sent back with, in the query or, with `responseMode: id_token`, in the fragment. It leaves the address before it
 * is used, so that neither a reload nor the history has it again.
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
  person.value = next;
  isPasswordDue.value = next.ext.must_change_password === true;
  if (hasEnded.value) resumed.value += 1;
  hasEnded.value = false;
}

const hasHandle = (): boolean => localStorage.getItem(handleKey) !== null;

/** Returns whether this is a page of a user who is logged in, as far as the browser knows: no login, and no return from one. */
export function isVisit(): boolean {
  const parameters = new URLSearchParams(location.search);
  return hasHandle() && !parameters.has('state') && !parameters.has(againKey) && !location.hash.includes('state=');
}

/** Asks who is logged in. Without a handle there is no session to ask for. */
export async function readPerson(): Promise<void> {
  if (!hasHandle()) return forget();
  try {
    become(await bodyOf(api.GET('/api/v2/token/info')));
  } catch (error) {
    if (!isOver(error)) throw error;
    forget();
  }
}

const isOver = (error: unknown): error is Problem => error instanceof Problem && error.status === 401;

let isAsking = false;

/** A session can end at any time and anywhere: a page that is refused asks whether it has. */
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

/** Another tab has logged in: the same user goes on, for another one nothing of this page holds. */
export async function followLogin(uid: string): Promise<void> {
  if (person.value !== undefined && person.value.uid !== uid) location.reload();
  else await readPerson();
}

/**
 * The service's own identity provider asks the user first, who may stay: then the session lives on. At any other the session ends before
 * the browser goes there, since it has to end whether or not that one answers.
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

/** @returns the identity provider's address where its own session ends */
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
    // Without a handle, or with an old one, there is nothing left to end.
    if (!isOver(error) && !(error instanceof Problem && error.status === 400)) throw error;
    forget();
    tellTabs({ kind: 'logout' });
    return undefined;
  }
}

/** Servers commonly take addresses of this length. */
const maxAddressLength = 8_000;

/** @param idToken that the service had no room for in a header */
function withHint(address: string | undefined, idToken: string | undefined): string | undefined {
  if (address === undefined || idToken === undefined) return address;
  const url = new URL(address);
  url.searchParams.set('id_token_hint', idToken);
  return url.href.length > maxAddressLength ? address : url.href;
}

/** Another tab, or this one, has logged out. */
export function forget(): void {
  localStorage.removeItem(handleKey);
  forgetLoads();
  person.value = undefined;
  hasEnded.value = false;
}

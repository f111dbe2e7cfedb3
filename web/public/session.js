/** The log-in of this browser: a session that the backend keeps. It renews the session by itself, the page has nothing to do for that. */
import { ask, askJson, base, Refusal } from './api.js';

/**
 * Log-out wants to be shown the session's handle, and only the end of a log-in tells it. So it is kept, for a reload and for the other
 * tabs, which share the session. It is no credential: without the cookie, which no script can read, it is worth nothing.
 */
const handleKey = 'atrium-session-handle';

/** The `state` of a log-out that this tab has asked the identity provider for. */
const logOutKey = 'atrium-log-out';

/** The longest path that comes back, and what may stand in it. */
const maxReturnLength = 2048;
const returnPath = /^(?!.*\/\/)\/[\x21-\x5b\x5d-\x7e]*$/;

let person;

/** UserInfo of whoever is logged in; undefined if nobody is. */
export const loggedIn = () => person;

/** Tells when another tab has logged in or out. */
export const onChangeElsewhere = (listener) =>
  window.addEventListener('storage', ({ key }) => {
    if (key === handleKey || key === null) listener();
  });

/** Leaves the page for the identity provider's. */
export async function logIn() {
  const here = location.pathname + location.search + location.hash;
  const isReturnable = here.length <= maxReturnLength && returnPath.test(here);
  const query = new URLSearchParams({ token_storage: 'cookie', ...(isReturnable && { return_to: here }) });
  const { auth_url: address } = await askJson(`api/v2/token/login?${query}`, { asSession: true });
  const back = new URL(new URL(address).searchParams.get('redirect_uri') ?? location.href);
  // The cookie of the flow is this host's: at another one it would be missing.
  if (back.origin !== location.origin)
    throw new Refusal({ reason: 'Wrong address', message: `People log in at ${back.origin}${back.pathname}: open this page there.` });
  location.assign(address);
}

/**
 * Ends a log-in or log-out if the identity provider has sent the browser here; else it does nothing.
 *
 * @returns 'cancelled' if the person has changed their mind at the identity provider
 */
export async function finishVisit() {
  const asked = sessionStorage.getItem(logOutKey);
  sessionStorage.removeItem(logOutKey);
  const response = takeResponse();
  if (response === undefined) return undefined;
  // A log-out comes back with its state and nothing else.
  const isLogIn = ['code', 'id_token', 'error'].some((name) => response.has(name));
  if (isLogIn) return finishLogIn(response);
  if (asked !== null && response.get('state') === asked) await endSession();
  return undefined;
}

async function finishLogIn(response) {
  // The backend is told of a refusal too: it ends the flow.
  const answer = askJson(`api/v2/token/callback?${response}`, { asSession: true });
  if (response.get('error') === 'access_denied') return answer.catch(cancelled);
  const { ext, ...info } = await answer;
  localStorage.setItem(handleKey, ext.token.refresh_token);
  person = { ...info, ext: { ...ext, token: undefined } };
  if (ext.return_to !== undefined) history.replaceState(null, '', ext.return_to);
  return undefined;
}

/** Only a flow that this browser began is answered so. */
function cancelled(error) {
  if (isOver(error) && error.causes.some(({ reason }) => reason === 'access_denied')) return 'cancelled';
  throw error;
}

/**
 * What the browser was sent back with, in the query or, with `responseMode: id_token`, in the fragment. It leaves the address before it
 * is used, so that neither a reload nor the history has it again.
 */
function takeResponse() {
  const parts = [location.search, location.hash].map((part) => new URLSearchParams(part.slice(1)));
  const response = parts.find((part) => part.has('state'));
  if (response === undefined) return undefined;
  history.replaceState(null, '', location.pathname);
  if (response.has('id_token') && !response.has('code')) response.set('code', '');
  return response;
}

/** Asks who is logged in, after a reload or when another tab has changed it. Without a handle there is nobody to ask for. */
export async function readPerson() {
  if (localStorage.getItem(handleKey) === null) return forget();
  try {
    person = await askJson('api/v2/token/info', { asSession: true });
  } catch (error) {
    if (!isOver(error)) throw error;
    forget();
  }
}

/**
 * The backend's own identity provider asks the person first, who may stay: then the session lives on. At any other the session ends
 * before the browser goes there, since it has to end whether or not that one answers.
 *
 * @returns where to go next; undefined if nowhere
 */
export async function logOut() {
  return (await questionAddress()) ?? endSession();
}

/** @returns undefined if the person would not be asked there, or not be sent back here */
async function questionAddress() {
  if (person?.ext.issuer !== `${base}identity`) return undefined;
  const { logout_url: address } = await askJson('api/v2/token/login', { asSession: true });
  const url = address === undefined ? undefined : new URL(address);
  if (url?.searchParams.get('post_logout_redirect_uri') !== base) return undefined;
  const state = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
  sessionStorage.setItem(logOutKey, state);
  url.searchParams.set('state', state);
  return url.href;
}

/** @returns the identity provider's address where its own session ends; undefined if it has none */
async function endSession() {
  try {
    const body = new URLSearchParams({ refresh_token: localStorage.getItem(handleKey) ?? '' });
    const { headers } = await ask('api/v2/token/logout', { method: 'POST', body, asSession: true });
    forget();
    return /<([^>]*)>\s*;\s*rel="?logout"?/.exec(headers.get('Link') ?? '')?.[1];
  } catch (error) {
    // Without a handle, or with an old one, there is nothing left to end.
    if (!isOver(error) && error.code !== 400) throw error;
    forget();
    return undefined;
  }
}

const isOver = (error) => error instanceof Refusal && error.code === 401;

function forget() {
  person = undefined;
  localStorage.removeItem(handleKey);
}

/** A page on another origin than Atrium: logs in, follows the list of users, logs out. No library, no build step; see docs/front-end.md. */
const api = document.documentElement.dataset.api;
const page = location.origin + location.pathname;
const element = (id) => document.getElementById(id);
const say = (text) => element('state').replaceChildren(text);
/** The RenewPayload, for this tab. */
const tokens = () => JSON.parse(sessionStorage.getItem('tokens'));
const keep = (payload) => sessionStorage.setItem('tokens', JSON.stringify(payload));

async function ask(path, init) {
  const answer = await fetch(api + path, init);
  if (!answer.ok) throw new Error((await answer.json()).message);
  return answer;
}
/** As JSON; with the cookie of the login's flow, which both ends of a login need. */
const askInFlow = async (path) => (await ask(path, { credentials: 'include' })).json();
const askWithSecret = (path, { refresh_token }) => ask(path, { method: 'POST', body: new URLSearchParams({ refresh_token }) });

const login = async () => location.assign((await askInFlow(`/api/v2/token/login?redirect_uri=${encodeURIComponent(page)}`)).auth_url);

/** Of a token that counts for a minute more. */
async function authorization() {
  if (Date.parse(tokens().expire_at) < Date.now() + 60_000) keep(await (await askWithSecret('/api/v2/token/refresh', tokens())).json());
  return `Bearer ${tokens().access_token}`;
}

/** What server-sent events say, object by object. */
async function* objectsOf({ body }) {
  let rest = '';
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const events = (rest + text).split('\n\n');
    rest = events.pop();
    for (const event of events) for (const [, data] of event.matchAll(/^data: (.*)$/gm)) yield JSON.parse(data);
  }
}

/** Shows all users and what becomes of them. A stream ends now and then: the next one goes on where it was, or begins again. */
async function follow() {
  for (let users = new Map(), version = ''; tokens() !== null; ) {
    const headers = { accept: 'text/event-stream', authorization: await authorization() };
    const from = version === '' ? '' : `&resourceVersion=${version}`;
    for await (const { type, object } of objectsOf(await ask(`/auth/v2/users?watch=true${from}`, { headers }))) {
      if (type === 'ERROR') users = new Map();
      if (type === 'DELETED') users.delete(object.metadata.name);
      if (type === 'ADDED' || type === 'MODIFIED') users.set(object.metadata.name, `${object.spec.email}: ${object.status?.phase}`);
      version = type === 'ERROR' ? '' : object.metadata.resourceVersion;
      element('users').textContent = [...users.values()].sort().join('\n');
    }
  }
}

/** Ends the login here and at the issuer, which asks whether its own session ends too, and comes back to this page. */
async function logout() {
  const { headers } = await askWithSecret('/api/v2/token/logout', tokens());
  sessionStorage.removeItem('tokens');
  const next = new URL(headers.get('link')?.match(/<([^>]+)>; rel="logout"/)?.[1] ?? page);
  next.searchParams.set('post_logout_redirect_uri', page);
  location.assign(next);
}

async function start() {
  const response = new URLSearchParams(location.search);
  history.replaceState(null, '', page);
  if (response.has('state') && (response.has('code') || response.has('error')))
    keep((await askInFlow(`/api/v2/token/callback?${response}`)).ext.token);
  if (tokens() === null) return;
  const user = await (await ask('/api/v2/token/info', { headers: { authorization: await authorization() } })).json();
  say(`You are ${user.name}.`);
  await follow();
}

const tell = ({ message }) => say(message);
element('login').onclick = () => login().catch(tell);
element('logout').onclick = () => logout().catch(tell);
start().catch(tell);

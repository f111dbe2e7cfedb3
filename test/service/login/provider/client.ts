import { type Answer, json, redirect, type SeenRequest } from './answers.ts';
import type { Misbehaviour } from './misbehaviour.ts';

interface Client {
  id: string;
  /** Undefined for a public client. */
  secret: string | undefined;
  /** The only accepted way to authenticate. Default: all ways. */
  way: Misbehaviour['clientSecret'];
}

/** Reports whether the request has the client id and, unless the client is public, its secret (RFC 6749 2.3.1). */
export function isClient({ headers, parameters }: SeenRequest, { id, secret, way }: Client): boolean {
  if (secret === undefined) return parameters.get('client_id') === id;
  const [, basic = ''] = /^Basic (.*)$/.exec(headers.authorization ?? '') ?? [];
  if (basic !== '' && way === 'body') return false;
  const given = basic
    ? Buffer.from(basic, 'base64')
        .toString()
        .split(':')
        .map(way === 'plain' ? String : formDecode)
    : [parameters.get('client_id'), parameters.get('client_secret')];
  return given[0] === id && given[1] === secret;
}

/** Decodes a client id or secret of a Basic header. */
const formDecode = (text: string) => decodeURIComponent(text.replaceAll('+', ' '));

/** Answers a logout by a redirect of the browser (OpenID Connect RP-Initiated Logout 1.0). */
export function afterLogout(asked: URLSearchParams, changes: Misbehaviour['response']): Answer {
  const target = asked.get('post_logout_redirect_uri');
  if (target === null) return json(200, {});
  const url = new URL(target);
  const { state } = { state: asked.get('state') ?? undefined, ...changes };
  if (state !== undefined) url.searchParams.set('state', state);
  return redirect(302, url.href);
}

/** Redirects the browser to the client with the answer to an authorization request. */
export function backToClient(target: URL, answer: Record<string, string | undefined>, where: 'hash' | 'search'): Answer {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(answer)) if (value !== undefined) parameters.set(name, value);
  target[where] = parameters.toString();
  return redirect(302, target.href);
}

/** Tells the client that a user has logged out (OpenID Connect Back-Channel Logout 1.0). */
export async function sendLogoutToken(url: string, token: string) {
  const answer = await fetch(url, { method: 'POST', body: new URLSearchParams({ logout_token: token }) });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

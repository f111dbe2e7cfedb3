import { Browser } from '../identity/browser.ts';
import { authorize } from './provider/browser.ts';
import type { TwoIssuers } from './two-issuers.ts';

/** The service of two issuers. The second one may be any issuer. */
type Two = Pick<TwoIssuers, 'service'>;

export interface Answer {
  status: number;
  text: string;
  body: unknown;
  headers: Headers;
}

export interface ShownLink {
  id: string;
  issuer: string;
  name: string;
  subjectName: string;
  linkedTime?: string;
  isFirst: boolean;
}

/**
 * Sends a request of a console page, with the cookies of the browser.
 *
 * @param at another replica than the first
 */
export async function send(two: Two, browser: Browser, method: string, path: string, body?: unknown, at?: string): Promise<Answer> {
  const cookie = browser.cookies
    .filter((one) => one.path === '/')
    .map(({ name, value }) => `${name}=${value}`)
    .join('; ');
  const headers = { cookie, origin: two.service.url, 'content-type': 'application/json' };
  const response = await two.service.request(path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }, at);
  for (const line of response.headers.getSetCookie()) browser.keep(line);
  const text = await response.text();
  return {
    status: response.status,
    text,
    body: text === '' ? undefined : JSON.parse(text),
    headers: response.headers as unknown as Headers,
  };
}

/** Begins a link, up to the answer of the issuer, which is not sent to the callback yet. */
export async function beginLink(two: TwoIssuers, browser: Browser, issuer = 'corp') {
  const begun = await send(two, browser, 'POST', '/auth/v1/links', { issuer, return_to: '/links' });
  const { auth_url: address } = begun.body as { auth_url?: string };
  const answer = address === undefined ? new URLSearchParams() : await authorize(address);
  return { ...begun, address: address ?? '', answer };
}

/** Copies a browser with all its cookies, like a thief or another tab. */
export function copyOf(two: TwoIssuers, browser: Browser): Browser {
  const { url, dispatcher } = two.service;
  const copy = new Browser(url, [url], { dispatcher });
  for (const { name, value, path } of browser.cookies) copy.keep(`${name}=${value}; Path=${path}`);
  return copy;
}

export const linksOf = async (two: Two, browser: Browser): Promise<ShownLink[]> =>
  ((await send(two, browser, 'GET', '/auth/v1/links')).body as { items: ShownLink[] }).items;

/** Claims of a new account at `corp`. */
export const atCorp = (name: string, groups: readonly string[] = ['dev']) => ({
  sub: `${name}-1`,
  email: `${name}@corp.example`,
  email_verified: true,
  name,
  groups: [...groups],
});

/** Logs in a local user, who links the account that is logged in at `corp`. */
export async function linkedUser(two: TwoIssuers, email: string): Promise<Browser> {
  const { browser } = await two.logInHere('cookie', '&issuer=local', email);
  const { answer } = await beginLink(two, browser);
  const { status, text } = await two.callback(browser, answer);
  if (status !== 200) throw new Error(`not linked: ${status} ${text}`);
  return browser;
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** Reads the record of a user from the cluster. */
export async function recordOf(two: Two, name: string): Promise<Record<'metadata' | 'spec' | 'status', Record<string, unknown>>> {
  const { body } = await two.service.admin.call('GET', `/apis/auth.platform.io/v1/users/${name}`);
  const { metadata, spec, status } = isRecord(body) ? body : {};
  return { metadata: isRecord(metadata) ? metadata : {}, spec: isRecord(spec) ? spec : {}, status: isRecord(status) ? status : {} };
}

/** Returns the reason of the first cause, or of the Status. */
export function reasonOf({ body }: Pick<Answer, 'body'>): unknown {
  if (!isRecord(body)) return undefined;
  const { details, reason } = body;
  const causes = isRecord(details) && Array.isArray(details.causes) ? details.causes : [];
  return causes[0]?.reason ?? reason;
}

export const tokenIn = (body: unknown): { access_token?: string; refresh_token?: string } =>
  (body as { ext: { token: Record<string, string> } }).ext.token;

import { type Dispatcher, request } from 'undici';
import { z } from 'zod';
import { visit } from './certificates.ts';

const loginInfo = z.object({ auth_url: z.url(), state: z.string(), logout_url: z.url().optional() });
export type LoginInfo = z.infer<typeof loginInfo>;

const renewPayload = z.looseObject({
  token_type: z.string(),
  access_token: z.string().optional(),
  id_token: z.string().optional(),
  refresh_token: z.string().optional(),
  issued_at: z.string(),
  expire_at: z.string(),
  token_storage: z.enum(['cookie', 'local']),
});
export type RenewPayload = z.infer<typeof renewPayload>;

const userInfo = z.looseObject({
  name: z.string(),
  uid: z.string(),
  email: z.string().optional(),
  groups: z.array(z.string()),
  ext: z.looseObject({ token: renewPayload.optional() }),
});

/** An answer with its body read. */
export interface Reply {
  status: number;
  headers: Headers;
  /** Set-Cookie lines. */
  cookies: string[];
  text: string;
  /** Decoded JSON, or undefined. */
  body: unknown;
}

export type Version = 'v1' | 'v2';
export type Flow = 'code' | 'hybrid' | 'id_token';

export interface BrowserRequest {
  method?: Dispatcher.HttpMethod;
  headers?: ConstructorParameters<typeof Headers>[0];
  body?: string | URLSearchParams;
}

/** A browser with its cookies and the page of the console, at the public address of the service. */
export class Browser {
  readonly cookies: Map<string, string>;
  readonly #url: string;

  /**
   * @param url address at which the service listens, also if its public address differs
   * @param cookies of a browser that has used another service at the same host
   */
  constructor(url: string, cookies = new Map<string, string>()) {
    this.#url = url;
    this.cookies = cookies;
  }

  /** Sends a request, and never follows a redirect. `fetch` would add Sec-Fetch headers. */
  async request(path: string, { method = 'GET', headers, body }: BrowserRequest = {}): Promise<Reply> {
    const all = new Headers(headers);
    const cookies = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    if (cookies !== '' && !all.has('cookie')) all.set('cookie', cookies);
    if (body instanceof URLSearchParams) all.set('content-type', 'application/x-www-form-urlencoded');
    const answer = await request(`${this.#url}${path}`, { method, headers: all, body: body?.toString() ?? null });
    const reply = await read(answer);
    for (const line of reply.cookies) this.#keep(line);
    return reply;
  }

  login(version: Version, parameters: Record<string, string> = {}): Promise<Reply> {
    return this.request(`/api/${version}/token/login?${new URLSearchParams(parameters)}`);
  }

  callback(version: Version, parameters: URLSearchParams | Record<string, string>): Promise<Reply> {
    return this.request(`/api/${version}/token/callback?${new URLSearchParams(parameters)}`);
  }

  /** Sends a token to an operation that accepts every kind of token. */
  info(version: Version, token?: string): Promise<Reply> {
    return this.request(`/api/${version}/token/info`, token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } });
  }

  #keep(line: string): void {
    const [pair = '', ...attributes] = line.split(';');
    const [name = '', ...value] = pair.split('=');
    const isGone = attributes.some((attribute) => /^\s*(max-age=0*|expires=thu, 01 jan 1970.*)$/i.test(attribute));
    if (isGone) this.cookies.delete(name);
    else this.cookies.set(name, value.join('='));
  }
}

async function read({ statusCode, headers: given, body }: Dispatcher.ResponseData): Promise<Reply> {
  const text = await body.text();
  const headers = new Headers();
  for (const [name, value] of Object.entries(given)) for (const one of [value ?? []].flat()) headers.append(name, one);
  const isJSON = text !== '' && /^application\/json\b/.test(headers.get('content-type') ?? '');
  return { status: statusCode, headers, cookies: headers.getSetCookie(), text, body: isJSON ? JSON.parse(text) : undefined };
}

export const loginInfoOf = (reply: Reply): LoginInfo => parse(loginInfo, reply);
export const userInfoOf = (reply: Reply): z.infer<typeof userInfo> => parse(userInfo, reply);
export const renewPayloadOf = (reply: Reply): RenewPayload => parse(renewPayload, reply);

function parse<T>(schema: z.ZodType<T>, { status, text, body }: Reply): T {
  const parsed = schema.safeParse(body);
  if (!parsed.success) throw new Error(`not what was asked for: ${status} ${text.slice(0, 400)}`, { cause: parsed.error });
  return parsed.data;
}

/**
 * Follows the authorization request. @returns the parameters that the page at the redirect URL finds in its address
 *
 * @param responseType replaces the one in the URL
 */
export async function authorize(authURL: string, responseType?: string): Promise<URLSearchParams> {
  const url = new URL(authURL);
  if (responseType !== undefined) url.searchParams.set('response_type', responseType);
  const { headers } = await read(await visit(url));
  const target = new URL(headers.get('location') ?? '');
  const answer = target.hash ? new URLSearchParams(target.hash.slice(1)) : target.searchParams;
  // The page sends both; a pure ID token comes without a code.
  if (answer.has('id_token') && !answer.has('code')) answer.set('code', '');
  return answer;
}

const responseTypes: Record<Flow, string> = { code: 'code', hybrid: 'code id_token', id_token: 'id_token' };

export interface LogIn {
  flow?: Flow;
  version?: Version;
  /** Default: `cookie`, as for the console. */
  storage?: 'cookie' | 'local' | 'unasked';
  browser?: Browser;
  /** Parameters of the login request. */
  parameters?: Record<string, string>;
}

/** Logs in with a browser: login request, provider, callback. */
export async function logIn({ url }: { url: string }, options: LogIn = {}) {
  const { flow = 'code', version = 'v2', storage = 'cookie', browser = new Browser(url), parameters = {} } = options;
  const login = await browser.login(version, { ...(storage !== 'unasked' && { token_storage: storage }), ...parameters });
  const info = loginInfoOf(login);
  const answer = await authorize(info.auth_url, responseTypes[flow]);
  const callback = await browser.callback(version, answer);
  return { browser, login, info, answer, callback };
}

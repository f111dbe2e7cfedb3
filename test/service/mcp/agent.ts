/** An agent as clients of MCP are: a public client with PKCE and a resource indicator. */
import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { EmbeddedLogin } from '../../support/embedded-login.ts';
import { Browser, type PageVisit } from '../identity/browser.ts';

const tokenAnswer = z.object({
  access_token: z.string(),
  refresh_token: z.string(),
  token_type: z.literal('Bearer'),
  scope: z.literal('mcp:read'),
});

interface AgentSettings {
  clientID: string;
  redirectURI: string;
}

export class AgentClient {
  readonly #login: EmbeddedLogin;
  readonly #settings: AgentSettings;
  readonly #verifier = randomBytes(32).toString('base64url');

  constructor(login: EmbeddedLogin, settings: AgentSettings) {
    this.#login = login;
    this.#settings = settings;
  }

  get resource(): string {
    return `${this.#login.url}/mcp`;
  }

  /** @param differing parameters; an empty one is left out, and a list is repeated */
  authorizationURL(differing: Record<string, string | string[]> = {}): URL {
    const url = new URL(`${this.#login.url}/identity/auth`);
    const parameters = {
      client_id: this.#settings.clientID,
      redirect_uri: this.#settings.redirectURI,
      response_type: 'code',
      state: randomBytes(16).toString('base64url'),
      code_challenge: createHash('sha256').update(this.#verifier).digest('base64url'),
      code_challenge_method: 'S256',
      resource: this.resource,
      ...differing,
    };
    for (const [name, value] of Object.entries(parameters))
      for (const each of [value].flat()) if (each !== '') url.searchParams.append(name, each);
    return url;
  }

  browser(headers: Record<string, string> = {}): Browser {
    return new Browser(this.#login.url, [this.#login.url], { dispatcher: this.#login.dispatcher, headers });
  }

  /** Logs in up to the page of the consent, or another answer. */
  async ask(
    email: string,
    password: string,
    { browser = this.browser(), differing = {} }: { browser?: Browser; differing?: Record<string, string | string[]> } = {},
  ) {
    const page = await browser.get(this.authorizationURL(differing));
    return { browser, page: page.body.includes('name="password"') ? await browser.submit(page, { email, password }) : page };
  }

  /** Logs in and permits the agent. */
  async permit(email: string, password: string, options: Parameters<AgentClient['ask']>[2] = {}): Promise<PageVisit> {
    const { browser, page } = await this.ask(email, password, options);
    return browser.submit(page, {});
  }

  redeem(end: PageVisit, differing: Record<string, string> = {}) {
    const code = end.url.searchParams.get('code');
    if (code === null) throw new Error(`no code: ${end.response.status} ${end.url.href} ${end.body}`);
    const { redirectURI } = this.#settings;
    return this.token({ grant_type: 'authorization_code', code, redirect_uri: redirectURI, code_verifier: this.#verifier, ...differing });
  }

  refresh(refreshToken: string, differing: Record<string, string> = {}) {
    return this.token({ grant_type: 'refresh_token', refresh_token: refreshToken, ...differing });
  }

  async token(fields: Record<string, string>, at?: string) {
    return this.post('/identity/token', { resource: this.resource, ...fields }, at);
  }

  async post(path: string, fields: Record<string, string>, at?: string) {
    const given = Object.entries({ client_id: this.#settings.clientID, ...fields }).filter(([, value]) => value !== '');
    const body = new URLSearchParams(given).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const response = await this.#login.request(path, { method: 'POST', headers, body }, at);
    const text = await response.text();
    return { status: response.status, body: text.startsWith('{') ? z.record(z.string(), z.unknown()).parse(JSON.parse(text)) : {} };
  }

  async tokens(email: string, password: string, options: Parameters<AgentClient['ask']>[2] = {}) {
    return tokensOf(await this.redeem(await this.permit(email, password, options)));
  }

  /** Reports whether the door accepts a token. */
  async isAccepted(token: string, at?: string): Promise<boolean> {
    const response = await this.#login.request(
      '/mcp',
      {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
      },
      at,
    );
    await response.body?.cancel();
    return !(response.headers.get('www-authenticate') ?? '').startsWith('Bearer resource_metadata=');
  }
}

export function tokensOf({ status, body }: { status: number; body: Record<string, unknown> }) {
  if (status !== 200) throw new Error(`no tokens: ${status} ${JSON.stringify(body)}`);
  return tokenAnswer.parse(body);
}

import { type EmbeddedLogin, type EmbeddedLoginOptions, startEmbeddedLogin } from '../../support/embedded-login.ts';
import { Browser } from '../identity/browser.ts';
import { authorize, type Reply } from './provider/browser.ts';
import type { Misbehaviour } from './provider/misbehaviour.ts';
import { TestProvider } from './provider/provider.ts';

const password = 'correct horse battery staple';
export const jane = 'jane@example.com';

export interface Visit extends Pick<Reply, 'status' | 'text'> {
  body: unknown;
  browser: Browser;
  /** Parameters with which the issuer redirected the browser. */
  answer: URLSearchParams;
}

interface LogInOptions {
  storage?: 'cookie' | 'local';
  browser?: Browser;
  /** Parameters of the login request. */
  parameters?: Record<string, string>;
  /** Parameters that replace those of the issuer's redirect. */
  answered?: Record<string, string>;
}

/** The embedded issuer, `local`, and another one, `corp`. The console offers login at both. */
export class TwoIssuers {
  readonly service: EmbeddedLogin;
  readonly corp: TestProvider;

  private constructor(service: EmbeddedLogin, corp: TestProvider) {
    this.service = service;
    this.corp = corp;
    this.behave();
  }

  /** @param entry settings of `corp` that differ */
  static async start(entry: Record<string, unknown> = {}, options: Partial<EmbeddedLoginOptions> = {}): Promise<TwoIssuers> {
    const corp = await TestProvider.start({ clientID: 'console' });
    const claims = { usernamePrefix: 'corp:', groupsPrefix: 'corp:' };
    const issuers = [{ id: 'corp', name: 'Corp', issuer: corp.issuer, clientID: corp.clientID, claims, ...entry }];
    corp.misbehave(announcing(corp));
    try {
      const service = await startEmbeddedLogin({ emails: [jane], password, credentials: 'impersonate', issuers, ...options });
      return new TwoIssuers(service, corp);
    } catch (error) {
      await corp.stop();
      throw error;
    }
  }

  /** Sets the behaviour of `corp`, which always announces and sends `iss`. */
  behave(otherwise: Misbehaviour = {}): void {
    this.corp.misbehave({ ...announcing(this.corp), ...otherwise });
  }

  newBrowser(): Browser {
    const { url, dispatcher } = this.service;
    return new Browser(url, [url], { dispatcher });
  }

  async get(browser: Browser, path: string): Promise<{ status: number; text: string; body: unknown }> {
    const { response, body } = await browser.get(`${this.service.url}${path}`);
    return { status: response.status, text: body, body: asJSON(body) };
  }

  /** Begins a login, up to the answer of the issuer `corp`. */
  async begin({ storage = 'cookie', browser = this.newBrowser(), parameters = { issuer: 'corp' } }: LogInOptions = {}) {
    const query = new URLSearchParams({ token_storage: storage, ...parameters });
    const { body } = await this.get(browser, `/api/v2/token/login?${query}`);
    const { auth_url: address = '' } = body as { auth_url?: string };
    return { browser, address, answer: await authorize(address) };
  }

  async logInAtCorp(options: LogInOptions = {}): Promise<Visit> {
    const { browser, answer } = await this.begin(options);
    for (const [name, value] of Object.entries(options.answered ?? {})) answer.set(name, value);
    return { browser, answer, ...(await this.callback(browser, answer)) };
  }

  callback(browser: Browser, answer: URLSearchParams) {
    return this.get(browser, `/api/v2/token/callback?${answer}`);
  }

  async logInHere(storage: 'cookie' | 'local' = 'cookie', parameters = '&issuer=local', email = jane) {
    const { browser, status, body } = await this.service.logIn(email, password, `?token_storage=${storage}${parameters}`);
    return { browser, status, text: body, body: asJSON(body) };
  }

  async withBearer(token: string): Promise<{ status: number; text: string; body: unknown }> {
    const response = await this.service.request('/api/v2/token/info', { headers: { authorization: `Bearer ${token}` } });
    const text = await response.text();
    return { status: response.status, text, body: asJSON(text) };
  }

  async stop(): Promise<void> {
    await this.service.stop();
    await this.corp.stop();
  }
}

const announcing = ({ issuer }: TestProvider): Misbehaviour => ({
  metadata: { authorization_response_iss_parameter_supported: true },
  response: { iss: issuer },
});

function asJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

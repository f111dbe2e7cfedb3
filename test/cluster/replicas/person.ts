import { type Dispatcher, request } from 'undici';
import { z } from 'zod';
import { Browser } from '../../service/identity/browser.ts';
import { sessionCookieOf } from '../../service/sessions/support.ts';
import { password } from './installation.ts';

const userInfo = z.object({
  name: z.string(),
  ext: z.object({ token: z.object({ refresh_token: z.string() }) }),
});
const renewal = z.object({ refresh_token: z.string() });

/** Options of clients. They close idle connections before a stopping replica does, which could race with the next request. */
export const shortIdle = { keepAliveMaxTimeout: 1_000 };

const sameOrigin = { 'sec-fetch-site': 'same-origin' };

export interface Doors {
  /** Public URL in the service's configuration. */
  publicURL: string;
  /** Address for the requests of this user. Default: the public URL. */
  url?: string;
  dispatcher: Dispatcher;
}

export interface Reply {
  status: number;
  text: string;
}

/** A local user with a session in a browser. */
export class Person {
  readonly email: string;
  readonly #url: string;
  readonly #dispatcher: Dispatcher;
  readonly #cookieName: string;
  /** Value of the cookie. */
  readonly secret: string;
  /** Renewal handle of the session. */
  #handle: string;

  private constructor(parts: { email: string; url: string; dispatcher: Dispatcher; cookieName: string; secret: string; handle: string }) {
    this.email = parts.email;
    this.#url = parts.url;
    this.#dispatcher = parts.dispatcher;
    this.#cookieName = parts.cookieName;
    this.secret = parts.secret;
    this.#handle = parts.handle;
  }

  /** Logs in: login, page of the embedded issuer, password, callback. @throws Error if a step fails */
  static async logIn(email: string, { publicURL, url = publicURL, dispatcher }: Doors): Promise<Person> {
    const browser = new Browser(publicURL, [url], { dispatcher });
    const login = await browser.get(`${publicURL}/api/v2/token/login?token_storage=cookie`);
    if (login.response.status !== 200) throw new Error(`login of ${email}: ${login.response.status} ${login.body}`);
    const { auth_url: authURL } = z.object({ auth_url: z.url() }).parse(JSON.parse(login.body));
    const page = await browser.get(authURL);
    if (page.response.status !== 200) throw new Error(`page for ${email}: ${page.response.status} ${page.body}`);
    const { url: back, response, body } = await browser.submit(page, { email, password });
    if (!back.searchParams.has('code')) throw new Error(`password of ${email}: ${response.status} ${back.pathname} ${body}`);
    const callback = await browser.get(`${publicURL}/api/v2/token/callback${back.search}`);
    if (callback.response.status !== 200) throw new Error(`callback of ${email}: ${callback.response.status} ${callback.body}`);
    const { name, ext } = userInfo.parse(JSON.parse(callback.body));
    if (name !== email) throw new Error(`${email} was logged in as ${name}`);
    const secret = browser.cookies.find((one) => one.name === sessionCookieOf(publicURL))?.value ?? '';
    return new Person({ email, url, dispatcher, cookieName: sessionCookieOf(publicURL), secret, handle: ext.token.refresh_token });
  }

  /** @param url of one replica, past the load balancer */
  get(path: string, { url = this.#url }: { url?: string } = {}): Promise<Reply> {
    return this.#send(url + path, { method: 'GET' });
  }

  post(path: string, body: unknown, { url = this.#url }: { url?: string } = {}): Promise<Reply> {
    const headers = { 'content-type': 'application/json', ...sameOrigin };
    return this.#send(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  }

  delete(path: string, { url = this.#url }: { url?: string } = {}): Promise<Reply> {
    return this.#send(url + path, { method: 'DELETE', headers: sameOrigin });
  }

  /** Renews the session's tokens, one renewal at a time. @throws Error for a success without a new handle */
  async refresh(to: { url?: string } = {}): Promise<Reply> {
    const reply = await this.get(`/api/v2/token/refresh?refresh_token=${this.#handle}`, to);
    if (reply.status !== 200) return reply;
    const { refresh_token: handle } = renewal.parse(JSON.parse(reply.text));
    if (handle === this.#handle) throw new Error('a renewal gave no new handle');
    this.#handle = handle;
    return reply;
  }

  async #send(url: string, options: Pick<Dispatcher.RequestOptions, 'method' | 'body'> & { headers?: Record<string, string> }) {
    const headers = { ...options.headers, cookie: `${this.#cookieName}=${this.secret}` };
    const { statusCode, body } = await request(url, { ...options, headers, dispatcher: this.#dispatcher });
    return { status: statusCode, text: await body.text() };
  }
}

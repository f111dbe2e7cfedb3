import { expect } from 'chai';
import { z } from 'zod';
import type { EmbeddedLogin } from '../../support/embedded-login.ts';
import type { Browser } from '../identity/browser.ts';
import { nameOf } from '../users/a-user.ts';
import { codeOf, codesIn, secretIn } from './person.ts';

export const password = 'correct horse';
export const list = z.object({
  rule: z.string(),
  kinds: z.array(z.string()),
  isTOTPSuspended: z.boolean(),
  items: z.array(z.looseObject({ id: z.string(), type: z.string(), name: z.string(), left: z.number().optional() })),
});
export const failure = z.object({ code: z.number(), details: z.object({ causes: z.array(z.object({ reason: z.string() })) }) });
export const pathOf = (email: string) => `/auth/v1/users/${nameOf(email)}/factors`;

/** A browser of a user, with a session of the service. */
export class Desk {
  readonly #service: EmbeddedLogin;
  readonly email: string;
  browser: Browser;
  secret = '';
  codes: string[] = [];

  constructor(service: EmbeddedLogin, email: string, browser: Browser) {
    this.#service = service;
    this.email = email;
    this.browser = browser;
  }

  static async of(service: EmbeddedLogin, email: string): Promise<Desk> {
    const { browser, status } = await service.logIn(email, password);
    expect(status).to.equal(200);
    return new Desk(service, email, browser);
  }

  /** Sends a request of a console page, with the cookies of the browser. */
  async call(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown) {
    const headers = {
      cookie: this.browser.cookies.map(({ name, value }) => `${name}=${value}`).join('; '),
      'sec-fetch-site': 'same-origin',
      ...(body !== undefined && { 'content-type': 'application/json' }),
    };
    const response = await this.#service.request(path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
  }

  /** Sets up an app at the issuer's page like the console, and returns with a new session. @returns the status of the callback */
  async enrol(): Promise<number> {
    const { url } = this.#service;
    const { auth_url } = JSON.parse(
      (await this.browser.get(`${url}/api/v2/token/login?token_storage=cookie&prompt=enrol&factor=totp`)).body,
    );
    const page = await this.browser.submit(await this.browser.get(auth_url), { email: this.email, password });
    this.secret = secretIn(page);
    const codes = await this.browser.submit(page, { code: codeOf(this.secret) });
    this.codes = codesIn(codes);
    const { url: back } = await this.browser.submit(codes, {});
    return (await this.browser.get(`${url}/api/v2/token/callback${back.search}`)).response.status;
  }

  async factors() {
    const { status, body } = await this.call('GET', pathOf(this.email));
    expect(status).to.equal(200);
    return list.parse(body);
  }
}

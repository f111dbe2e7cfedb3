import { expect } from 'chai';
import type { Headers } from 'undici';
import { z } from 'zod';
import type { EmbeddedLogin } from '../../support/embedded-login.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import type { Browser } from '../identity/browser.ts';
import { nameOf } from '../users/a-user.ts';

export const linksOf = (email: string): string => `/auth/v1/users/${nameOf(email)}/links`;

const made = z.object({ url: z.string(), expiresAt: z.iso.datetime() });
const record = z.object({ status: z.looseObject({}) });

/** A logged-in manager of users, who sends requests like the console. */
export class Office {
  readonly #service: EmbeddedLogin;
  readonly #browser: Browser;

  private constructor(service: EmbeddedLogin, browser: Browser) {
    this.#service = service;
    this.#browser = browser;
  }

  static async open(service: EmbeddedLogin, manager: string, password: string): Promise<Office> {
    await service.admin.apply(clusterRoleBinding(`manages-${nameOf(manager)}`, 'atrium-users-admin', { kind: 'User', name: manager }));
    const { browser, status } = await service.logIn(manager, password);
    expect(status).to.equal(200);
    return new Office(service, browser);
  }

  async call(method: 'GET' | 'POST' | 'DELETE' | 'PATCH', path: string, body?: unknown, headers: Record<string, string> = {}) {
    const cookie = this.#browser.cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
    const response = await this.#service.request(path, {
      method,
      headers: { cookie, 'sec-fetch-site': 'same-origin', ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
  }

  /** @returns the address of the link */
  async makeLink(email: string, request: Record<string, unknown> = { kind: 'password' }): Promise<string> {
    const { status, body } = await this.call('POST', linksOf(email), request);
    expect(status, JSON.stringify(body)).to.equal(201);
    return made.parse(body).url;
  }
}

export interface Page {
  status: number;
  headers: Headers;
  heading: string;
  body: string;
}

/** Opens a link in a browser without cookies of the service. @param fields of the form that it sends */
export async function visit(service: EmbeddedLogin, link: string, fields?: Record<string, string>, at = service.url): Promise<Page> {
  const { pathname, origin } = new URL(link);
  expect(origin).to.equal(service.url);
  const headers = { accept: 'text/html', 'accept-language': 'en', ...(fields && { 'sec-fetch-site': 'same-origin' }) };
  const form = {
    headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields).toString(),
  };
  const response = await service.request(pathname, fields ? { method: 'POST', ...form } : { headers }, at);
  const body = await response.text();
  return { status: response.status, headers: response.headers, heading: /<h1>([^<]*)</.exec(body)?.[1] ?? '', body };
}

export const passwordForm = (password: string, again = password) => ({ new_password: password, new_password_again: again });

export const statusOf = async (service: EmbeddedLogin, email: string) =>
  record.parse((await service.admin.call('GET', `/apis/auth.platform.io/v1/users/${nameOf(email)}`)).body).status;

import { Secret, TOTP } from 'otpauth';
import { z } from 'zod';
import { serviceNamespace } from '../../support/cluster-admin.ts';
import type { Browser, PageVisit } from '../identity/browser.ts';
import type { Issuers } from '../identity/issuers.ts';
import { RelyingParty } from '../identity/relying-party.ts';
import { nameOf } from '../users/a-user.ts';
import type { Authenticator } from './authenticator.ts';

export const factorsPath = `/apis/auth.platform.io/v1/namespaces/${serviceNamespace}/factors`;
const factorList = z.object({
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string(), ownerReferences: z.array(z.object({ uid: z.string() })).default([]) }),
      spec: z.looseObject({ user: z.string(), userUID: z.string(), type: z.string(), sealed: z.string() }),
      status: z.looseObject({ used: z.array(z.number()).optional(), lastStep: z.number().optional() }).optional(),
    }),
  ),
});
const record = z.object({ metadata: z.object({ uid: z.string() }), status: z.looseObject({}).default({}) });

const password = 'correct horse';
const stepMs = 30_000;

/** Reports whether the issuer has redirected the browser with a code. */
export const wasLetIn = ({ url }: PageVisit): boolean => url.searchParams.has('code');

export const secretIn = ({ body }: PageVisit): string => (/class="key">([A-Z2-7 ]+)</.exec(body)?.[1] ?? '').replaceAll(' ', '');

export const codesIn = ({ body }: PageVisit): string[] => [...body.matchAll(/<li>([A-Z2-7-]{19})<\/li>/g)].map(([, code = '']) => code);

/** Returns the current code of an app. @param ahead steps of 30 seconds */
export const codeOf = (secret: string, ahead = 0): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + ahead * stepMs });

/** Returns a code that differs from all codes of the secret in the accepted steps. */
export function wrongCodeOf(secret: string): string {
  const right = new Set([-2, -1, 0, 1, 2].map((ahead) => codeOf(secret, ahead)));
  return ['000000', '111111', '222222', '333333', '444444', '555555'].find((code) => !right.has(code)) ?? '';
}

/** A local user at the embedded issuer, with the user's objects in the cluster. */
export class Person {
  readonly email: string;
  readonly password = password;
  readonly #issuers: Issuers;
  secret = '';
  codes: string[] = [];

  constructor(issuers: Issuers, email: string) {
    this.#issuers = issuers;
    this.email = email;
  }

  static async with(issuers: Issuers, email: string): Promise<Person> {
    await issuers.addPerson(email, password);
    return new Person(issuers, email);
  }

  party(): RelyingParty {
    return new RelyingParty({ issuer: this.#issuers.issuer });
  }

  browser(): Browser {
    return this.#issuers.browser();
  }

  /** Logs in up to the page after the password. */
  begin(browser = this.browser(), differing: Record<string, string> = {}): Promise<PageVisit> {
    return this.party().begin(browser, this, differing);
  }

  /** Sets up an app, and keeps its recovery codes. @returns the page to which the browser is redirected */
  async enrol(browser = this.browser()): Promise<PageVisit> {
    const page = await this.begin(browser, { prompt: 'enrol', factor: 'totp' });
    this.secret = secretIn(page);
    const codes = await browser.submit(page, { code: codeOf(this.secret) });
    this.codes = codesIn(codes);
    return browser.submit(codes, {});
  }

  /** Sets up a passkey, and keeps the recovery codes if it is the first factor. @returns the page to which the browser is redirected */
  async enrolPasskey(authenticator: Authenticator, browser = this.browser()): Promise<PageVisit> {
    const page = await this.begin(browser, { prompt: 'enrol', factor: 'passkey' });
    const next = await browser.submit(page, { assertion: authenticator.create(page) });
    this.codes = codesIn(next);
    return this.codes.length > 0 ? browser.submit(next, {}) : next;
  }

  /** Returns the first passkey. */
  async passkey() {
    return (await this.factors()).find(({ spec }) => spec.type === 'Passkey');
  }

  /** Logs in with a password and a code of the second factor. */
  async logIn(code: string, browser = this.browser()): Promise<PageVisit> {
    return browser.submit(await this.begin(browser), { code });
  }

  async factors() {
    const { items } = factorList.parse((await this.#issuers.kubernetes.call('GET', factorsPath)).body);
    return items.filter(({ spec }) => spec.user === nameOf(this.email));
  }

  async record() {
    return record.parse((await this.#issuers.kubernetes.call('GET', `/apis/auth.platform.io/v1/users/${nameOf(this.email)}`)).body);
  }

  /** Returns the audit events about this user. */
  events(): string[] {
    return this.#issuers.auditLines.filter(({ target }) => target === nameOf(this.email)).map(({ audit }) => String(audit));
  }

  /** Ends the lock, as its expiry would. */
  async unlock(): Promise<void> {
    await this.#issuers.change(this.email, { status: { failedLogins: null, failedLoginsSince: null, lockedUntil: null } });
  }
}

/** The demo, and common actions of its users in a browser. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Browser, Locator, Page } from 'playwright-core';
import { z } from 'zod';
import { runSandbox, type Sandbox, type SandboxOptions } from '../../../src/sandbox.ts';
import { Browser as FormBrowser } from '../../service/identity/browser.ts';
import { cheapPasswords } from '../../support/cheap-passwords.ts';
import { forSuite, needsNoStop } from '../../support/for-suite.ts';
import { freePort } from '../../support/free-port.ts';
import { keptSigningKeys } from '../../support/kept-keys.ts';
import { startChromium, Visitor } from './chromium.ts';

const infoFile = z.object({
  url: z.string(),
  kubeconfig: z.string(),
  people: z.array(z.object({ email: z.string(), role: z.string(), password: z.string(), token: z.string() })),
});
export type Person = z.output<typeof infoFile>['people'][number];

/** Options of `atrium sandbox`. */
export type DemoOptions = Partial<Pick<SandboxOptions, 'users' | 'smtpPort'>>;

const loginStart = z.object({ auth_url: z.string() });

const defaults: Omit<SandboxOptions, 'port'> = {
  host: '127.0.0.1',
  users: 25,
  origin: [],
  redirectUrl: [],
  environment: {},
  isPatient: true,
  passwords: cheapPasswords(),
  newSigningKeys: keptSigningKeys,
  packageRoot: new URL('../../../', import.meta.url),
};

export class Demo {
  readonly url: string;
  readonly kubeconfig: string;
  readonly #people: readonly Person[];
  readonly #sandbox: Sandbox;
  readonly #directory: string;

  private constructor(sandbox: Sandbox, directory: string, { url, kubeconfig, people }: z.output<typeof infoFile>) {
    this.url = url;
    this.kubeconfig = kubeconfig;
    this.#people = people;
    this.#sandbox = sandbox;
    this.#directory = directory;
  }

  /** Starts the demo in this process: a process of its own would take three seconds of a processor to load the service. */
  static async start(options: DemoOptions = {}): Promise<Demo> {
    const directory = await mkdtemp(join(tmpdir(), 'atrium-test-'));
    const info = join(directory, 'info.json');
    const sandbox = await runSandbox({ ...defaults, port: await freePort(), ...options, info });
    return new Demo(sandbox, directory, infoFile.parse(JSON.parse(await readFile(info, 'utf8'))));
  }

  async stop(): Promise<void> {
    await this.#sandbox.stop({ drain: false });
    await rm(this.#directory, { recursive: true });
  }

  person(role: string): Person {
    const found = this.#people.find((one) => one.role === role);
    if (found === undefined) throw new Error(`the demo has no ${role}`);
    return found;
  }

  /**
   * Opens a page of the console at the end of a login. The forms of the login are sent without the browser, which would load two more
   * pages; `log-in.test.ts` has the login of a browser.
   */
  async logIn(page: Page, role: string, path = '/'): Promise<void> {
    const { email, password } = this.person(role);
    const forms = new FormBrowser(this.url, [this.url]);
    const start = new URL('/api/v2/token/login', this.url);
    start.search = new URLSearchParams({ token_storage: 'cookie', return_to: path }).toString();
    const { auth_url } = loginStart.parse(JSON.parse((await forms.get(start)).body));
    const { url } = await forms.submit(await forms.get(auth_url), { email, password });
    const domain = new URL(this.url).hostname;
    await page.context().addCookies(forms.cookies.map((cookie) => ({ ...cookie, domain, httpOnly: true, sameSite: 'Lax' as const })));
    await page.goto(url.href);
    await isLoggedIn(page, email);
  }
}

/** Starts a browser and the demo for the tests of a `describe`. */
export function demoInChromium(options?: DemoOptions): { browser: Browser; demo: Demo } {
  const demo = forSuite(() => Demo.start(options));
  // The browser closes first: the service waits up to 25 s for requests of open pages.
  const browser = forSuite(startChromium, (it) => it.close());
  return { browser, demo };
}

/** Starts both with a page on which a user is logged in. A test fails if the page has unexpected complaints. */
export function loggedIn(
  role: string,
  path: string,
  options?: DemoOptions,
): { browser: Browser; demo: Demo; visitor: Visitor; page: Page } {
  const { browser, demo } = demoInChromium(options);
  const visitor = forSuite(async () => new Visitor(await browser.newContext()), needsNoStop);
  const page = forSuite(() => visitor.openTab(), needsNoStop);
  before(() => demo.logIn(page, role, path));
  afterEach(() => expect(visitor.takeComplaints()).to.deep.equal([]));
  return { browser, demo, visitor, page };
}

export const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();

/** Returns the field of the namespace in the top bar. */
export const namespaceField = (page: Page) => page.getByRole('banner').getByRole('combobox', { name: 'Namespace' });

/** Types a namespace into the field of the top bar, and takes the active option. */
export async function chooseNamespace(page: Page, name: string): Promise<void> {
  await namespaceField(page).fill(name);
  await page.getByRole('option', { name, exact: true, selected: true }).waitFor();
  await namespaceField(page).press('Enter');
}

/**
 * Clicks without the mouse. A dialog that the page opens by itself, such as "Your session is over", may already cover the target, and a
 * click of the mouse would wait for its end.
 */
export const clickBeneath = (target: Locator) => target.dispatchEvent('click');

/** Returns a disabled menu entry, once the rights are known. */
export const greyed = (page: Page, name: string) => page.getByRole('menuitem', { name, exact: true, disabled: true });

/** Waits for a login, shown by the Kubernetes user name in the title. */
export const isLoggedIn = (page: Page, name: string) => page.locator(`.who[title="${name}"]`).waitFor();

export const isLoggedOut = (page: Page) => page.locator('main.start').waitFor();

/** Submits the password on the page of the identity provider. */
export async function submitPassword(page: Page, { email, password }: Pick<Person, 'email' | 'password'>): Promise<void> {
  await page.locator('#email').fill(email);
  await page.locator('#password').fill(password);
  await page.locator('#password').press('Enter');
}

/** Completes the form that the identity provider shows after a first password. */
export async function chooseNewPassword(page: Page, password: string): Promise<void> {
  await page.getByRole('heading', { name: 'Choose a new password' }).waitFor();
  await page.locator('#new_password').fill(password);
  await page.locator('#new_password_again').fill(password);
  await page.locator('#new_password_again').press('Enter');
}

/** Returns the contents of localStorage and sessionStorage. */
export const kept = async (page: Page): Promise<Record<string, string>> =>
  z.record(z.string(), z.string()).parse(await page.evaluate('({ ...localStorage, ...sessionStorage })'));

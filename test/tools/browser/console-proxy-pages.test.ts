/** Pages of a proxy in place of answers: the console reports an outage, and concludes nothing about objects, rights or the session. */
import { expect } from 'chai';
import type { Page, Route } from 'playwright-core';
import { type Demo, isLoggedIn, loggedIn, press } from './demo.ts';
import { create } from './kind-pages.ts';

const codes = [200, 301, 401, 403, 404, 502];
const html = '<html><head><title>A page</title></head><body><h1>A page</h1></body></html>';

interface Journey {
  /** Completes `the console…`. */
  title: string;
  /** Method and path that the page answers. */
  replaced: { method: string; path: RegExp };
  /** Called before the proxy answers. */
  prepare?: (page: Page, demo: Demo) => Promise<unknown>;
  /** Waits until the page has the answer. */
  run: (page: Page, demo: Demo) => Promise<unknown>;
  /** Words by which the console would conclude something. */
  never: string | RegExp;
  /** Requests that would follow a conclusion. */
  unsent?: { method: string; path: RegExp };
  /** Waits for the result after the proxy has recovered. Default: the failure leaves. */
  again?: (page: Page) => Promise<unknown>;
}

const maps = 'api/v1/namespaces/shop/configmaps';
const failure = (page: Page) => page.getByText(/A proxy answered in place of the service \(HTTP (?:200|401|403|404|502)\)\./).first();
const dialog = (page: Page) => page.getByRole('dialog');
const review = (page: Page) => page.getByRole('status').filter({ hasText: 'Question:' });

const journeys: readonly Journey[] = [
  {
    title: 'takes no object for missing',
    replaced: { method: 'GET', path: /\/configmaps\/painted$/ },
    run: (page, demo) => page.goto(`${demo.url}/r/core/v1/configmaps/ns/shop/painted`).then(() => failure(page).waitFor()),
    never: 'The object does not exist or was deleted.',
    again: (page) => page.getByText('red', { exact: true }).waitFor(),
  },
  {
    title: 'does not offer to create an object that exists',
    replaced: { method: 'GET', path: /\/configmaps\/painted$/ },
    async run(page, demo) {
      await page.goto(`${demo.url}/new/core/v1/configmaps/ns/shop`);
      const editor = page.locator('.edit-code .cm-content');
      await editor.waitFor();
      const object = (name: string) => `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n  namespace: shop\n`;
      await editor.fill([object('painted'), object('painted')].join('---\n'));
      await press(page, 'Review the changes');
      await failure(page).waitFor();
    },
    never: 'Will be created',
    unsent: { method: 'POST', path: /\/configmaps$/ },
  },
  {
    title: 'does not say that second factors are switched off',
    replaced: { method: 'GET', path: /\/auth\/v1\/users\/[^/]+\/factors$/ },
    run: (page, demo) => openOwn(page, demo, 'factors').then(() => failure(page).waitFor()),
    never: 'Second factors are switched off here.',
    again: (page) => page.getByText('No second factor is set up.').waitFor(),
  },
  {
    title: 'does not say that linking accounts is switched off',
    replaced: { method: 'GET', path: /\/auth\/v1\/links$/ },
    run: (page, demo) => openOwn(page, demo, 'accounts').then(() => failure(page).waitFor()),
    never: 'Linking accounts is switched off here.',
    again: (page) => failure(page).waitFor({ state: 'detached' }),
  },
  {
    title: 'sends no password without encryption',
    replaced: { method: 'GET', path: /\/auth\/v1\/pubkey$/ },
    async run(page, demo) {
      await page.goto(`${demo.url}/users/new`);
      await page.getByLabel('E-mail').fill('never.stored@example.com');
      await page.getByLabel('Password', { exact: true }).fill('a long enough passphrase');
      await page.getByLabel('Name', { exact: true }).fill('Never Stored');
      await press(page, 'Create the user');
      await failure(page).waitFor();
    },
    never: 'Hand over the password now',
    unsent: { method: 'POST', path: /\/auth\/v1\/users$/ },
  },
  {
    title: 'asks for no other user than the one with all groups',
    replaced: { method: 'GET', path: /\/auth\/v1\/usersroles$/ },
    async run(page, demo) {
      await page.goto(`${demo.url}/access`);
      await page.getByLabel('For whom').selectOption('Another user');
      await page.getByLabel('User', { exact: true }).fill('jane@example.com');
      await press(page, 'Ask the cluster');
      await failure(page).waitFor();
    },
    never: 'Question:',
    unsent: { method: 'POST', path: /\/(?:local)?subjectaccessreviews$/ },
    again: (page) => press(page, 'Ask the cluster').then(() => review(page).waitFor()),
  },
  {
    title: 'takes no role for missing',
    replaced: { method: 'GET', path: /\/clusterroles\/view$/ },
    async run(page, demo) {
      await page.goto(`${demo.url}/bindings/new`);
      await page.getByLabel('Role', { exact: true }).fill('view');
      await page.getByLabel('Role', { exact: true }).press('Escape');
      await failure(page).waitFor();
    },
    never: 'This role does not exist.',
    again: (page) => page.getByText('configmaps').first().waitFor(),
  },
  {
    title: 'ends no session',
    replaced: { method: 'GET', path: /\/(?:token\/info|configmaps\/namespaces\/shop)$/ },
    async prepare(page, demo) {
      await page.goto(`${demo.url}/r/core/v1/configmaps/ns/shop/painted`);
      await page.getByText('red', { exact: true }).waitFor();
    },
    async run(page) {
      await page.locator('.crumb a').first().click();
      await failure(page).waitFor();
    },
    never: 'Your session is over',
    again: (page) => page.reload().then(() => page.getByRole('link', { name: 'painted' }).waitFor()),
  },
  {
    title: 'confirms no logout',
    replaced: { method: 'GET', path: /\/token\/login$/ },
    prepare: (page, demo) => page.goto(`${demo.url}/about`),
    async run(page) {
      await page.locator('button:has(.who)').first().click();
      await page.getByRole('menuitem', { name: 'Log out' }).click();
      await failure(page).waitFor();
    },
    never: 'Log in',
    again: (page) => page.reload(),
  },
];

/** Opens a tab of the user's own page. */
async function openOwn(page: Page, demo: Demo, tab: string): Promise<void> {
  await page.goto(demo.url);
  const factors = await page.getByRole('link', { name: 'Second factors' }).getAttribute('href');
  await page.goto(new URL(`../${tab}`, new URL(`${factors}/`, demo.url)).href);
}

describe('the console behind a proxy that answers with pages', () => {
  const { demo, page, visitor } = loggedIn('admin', '/', { users: 5 });
  const isOf = (route: Route, { method, path }: Journey['replaced']) =>
    route.request().method() === method && path.test(new URL(route.request().url()).pathname);

  const mend = () => page.unrouteAll({ behavior: 'ignoreErrors' });

  afterEach(mend);
  before(async () => {
    // Text that is not saved is left.
    page.on('dialog', (asked) => void asked.accept());
    visitor.accepted = /status of (?:401|403|404|502)|Applying inline style/;
    await create(demo, maps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'painted' }, data: { colour: 'red' } });
  });

  for (const { title, replaced, prepare, run, never, unsent, again } of journeys)
    for (const code of codes)
      it(`${title} after a page of ${code}`, async () => {
        await prepare?.(page, demo);
        const sent: string[] = [];
        await page.route('**/*', async (route) => {
          const { pathname } = new URL(route.request().url());
          if (unsent !== undefined && isOf(route, unsent)) sent.push(pathname);
          if (!isOf(route, replaced)) return route.fallback();
          const headers = code === 301 ? { location: '/' } : {};
          await route.fulfill({ status: code, contentType: 'text/html', headers, body: html });
        });
        await run(page, demo);

        expect(await page.getByText(never).filter({ visible: true }).count(), 'the conclusion').to.equal(0);
        expect(sent, 'requests after it').to.deep.equal([]);
        expect(await dialog(page).count(), 'dialogs').to.equal(0);
        await isLoggedIn(page, demo.person('admin').email);
        await mend();
        await again?.(page);
      });
});

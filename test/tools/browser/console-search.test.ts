/** Ctrl+K finds objects of all kinds that the caller may list, and names the kinds that it does not know. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { aConfigMap, objects, ofAlice, resources } from '../../service/listed-resources/support.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite, needsNoStop } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { theConsole } from '../../support/static-directory.ts';
import { barriers } from './axe.ts';
import { startChromium, Visitor } from './chromium.ts';
import { isLoggedIn, loggedIn, press, submitPassword } from './demo.ts';

const password = 'a long enough passphrase';
const [admin, alice] = ['admin@example.com', 'alice@example.com'];

describe('the search of the console', () => {
  // The service account may not list pods.
  const lists = { resources: [...resources, { version: 'v1', resource: 'pods' }] };
  const service = forSuite(() => startEmbeddedLogin({ emails: [admin, alice], password, lists, files: theConsole }));
  const browser = forSuite(startChromium, (it) => it.close());
  const visitor = forSuite(async () => new Visitor(await browser.newContext({ ignoreHTTPSErrors: true })), needsNoStop);
  const page = forSuite(() => visitor.openTab(), needsNoStop);

  const paletteOf = (tab: Page) => tab.getByRole('dialog', { name: 'Go to' });
  const found = (title: string, tab = page) => paletteOf(tab).getByRole('group', { name: title, exact: true }).getByRole('option');

  async function logIn(tab: Page, email: string): Promise<void> {
    await tab.goto(`${service.url}/about`);
    await press(tab, 'Log in');
    await submitPassword(tab, { email, password });
    await isLoggedIn(tab, email);
  }

  async function search(words: string, tab = page): Promise<void> {
    await tab.keyboard.press('Control+k');
    await paletteOf(tab).getByRole('combobox').fill(words);
  }

  async function close(): Promise<void> {
    await page.keyboard.press('Escape');
    await paletteOf(page).waitFor({ state: 'detached' });
  }

  before(async () => {
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' };
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: alice }];
    await service.admin.apply(
      ...objects,
      aConfigMap('shop-01', 'cart', 'tier-0'),
      aConfigMap('shop-02', 'cart', 'tier-0'),
      clusterRoleBinding('console-admin', 'cluster-admin', { kind: 'User', name: admin }),
      ...ofAlice.map((namespace) => ({
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata: { name: 'console-alice', namespace },
        roleRef,
        subjects,
      })),
    );
    await logIn(page, admin);
  });
  afterEach(() => expect(visitor.complaints.splice(0)).to.deep.equal([]));

  it('finds objects below their kind with their namespaces, and opens one by the keyboard', async () => {
    await search('cart');
    await found('ConfigMaps').first().waitFor();

    expect(await found('ConfigMaps').allTextContents()).to.deep.equal(['cartshop-01', 'cartshop-02']);
    expect(await barriers(page)).to.deep.equal([]);
    while ((await found('ConfigMaps').nth(1).getAttribute('aria-selected')) !== 'true') await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'cart' }).waitFor();
    expect(new URL(page.url()).pathname).to.equal('/r/core/v1/configmaps/ns/shop-02/cart');
  });

  it('shows the number of results, and the matching label', async () => {
    await search('m0');
    await found('ConfigMaps: 5 of 12').first().waitFor();
    await paletteOf(page).getByRole('combobox').fill('suite=lists');
    await found('ConfigMaps: 5 of 50').first().waitFor();

    expect(await found('ConfigMaps: 5 of 50').first().textContent()).to.contain('suite=lists');
    await close();
  });

  it('finds users, and names unknown kinds', async () => {
    await search('alice');
    await found('Users').getByText(alice).first().waitFor();
    await paletteOf(page).getByRole('status').getByText('not known yet: Pods').waitFor();

    await close();
  });

  it('sends one request for words that are typed at once, and aborts the previous search', async () => {
    const asked: string[] = [];
    const note = ({ url }: { url: string }) => asked.push(new URL(url).searchParams.get('q') ?? '');
    await page.route('**/api/v2/search?*', async (route) => {
      note({ url: route.request().url() });
      await route.continue();
    });
    await page.keyboard.press('Control+k');
    // Keys of a slow machine have longer pauses than those that the page waits for.
    await paletteOf(page)
      .getByRole('combobox')
      .evaluate((field: { value: string; dispatchEvent(event: Event): boolean }) => {
        for (const text of ['c', 'ca', 'car', 'cart']) {
          field.value = text;
          field.dispatchEvent(new Event('input', { bubbles: true }));
        }
      });
    await found('ConfigMaps').first().waitFor();
    await page.unroute('**/api/v2/search?*');

    expect(asked).to.deep.equal(['cart']);
    await close();
  });

  it('opens no result of an earlier text', async () => {
    await page.goto(`${service.url}/about`);
    await page.getByRole('heading', { name: 'About' }).waitFor();
    await search('cart');
    await found('ConfigMaps').first().waitFor();
    const held = Promise.withResolvers<void>();
    await page.route('**/api/v2/search?*', async (route) => {
      await held.promise;
      await route.continue();
    });
    await paletteOf(page).getByRole('combobox').fill('m0');
    await page.keyboard.press('Enter');

    expect(new URL(page.url()).pathname).to.equal('/about');
    held.resolve();
    await found('ConfigMaps: 5 of 12').first().waitFor();
    await close();
  });

  it('reports a failed search, and never shows it as empty', async () => {
    await page.route('**/api/v2/search?*', (route) => route.abort());
    await search('zebra');
    await paletteOf(page).getByText('Objects could not be searched').waitFor();
    await page.unroute('**/api/v2/search?*');

    expect(await paletteOf(page).getByText('No results').count()).to.equal(0);
    await close();
    expect(visitor.complaints.splice(0).length).to.be.above(0);
  });

  it('shows objects that the caller may list, and names the other kinds', async () => {
    const other = new Visitor(await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 390, height: 700 } }));
    const tab = await other.openTab();
    await logIn(tab, alice);
    await search('cart', tab);
    await found('ConfigMaps', tab).first().waitFor();

    expect(await found('ConfigMaps', tab).allTextContents()).to.deep.equal(['cartshop-01']);
    await paletteOf(tab).getByRole('status').getByText('You may not list: Users, Groups, Namespaces').waitFor();
    expect(await tab.evaluate('document.documentElement.scrollWidth <= innerWidth')).to.equal(true);
    expect(await barriers(tab)).to.deep.equal([]);
    expect(other.complaints).to.deep.equal([]);
    await other.leave();
  });
});

describe('the demo of the console', () => {
  const { page } = loggedIn('admin', '/');

  it('finds workloads of all kinds by a part of their names', async () => {
    await page.keyboard.press('Control+k');
    const palette = page.getByRole('dialog', { name: 'Go to' });
    await palette.getByRole('combobox').fill('cart');
    const found = (title: string) => palette.getByRole('group', { name: title, exact: true }).getByRole('option');
    for (const title of ['Deployments', 'Pods', 'Services']) await found(title).first().waitFor();

    expect(await found('Deployments').first().textContent()).to.match(/^cartshop · (?:Progressing|Available|NotAvailable)$/);
    expect(await palette.getByRole('status').getByText('not known yet').count()).to.equal(0);
    const titles = await palette.locator('.section').allInnerTexts();
    expect(titles.at(-1)).to.match(/Events/);
    await page.keyboard.press('Escape');
  });

  it('lists pods in the order of a column of the service', async () => {
    const asked = page.waitForRequest(/\/api\/v2\/resources\/core\/v1\/pods\?.*sortBy=d%2Crestarts/);
    await page.goto(new URL('/r/core/v1/pods', page.url()).href);
    const head = page.getByRole('columnheader', { name: 'Restarts' });
    for (const direction of ['ascending', 'descending']) {
      await head.getByRole('button').click();
      await head.and(page.locator(`[aria-sort=${direction}]`)).waitFor();
    }
    await asked;
    await page
      .locator('tbody tr:not(.spacer)')
      .first()
      .getByText(/^(cart|ledger|alerts)-/)
      .waitFor();
  });
});

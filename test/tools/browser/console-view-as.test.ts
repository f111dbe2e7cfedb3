/** Views as another user in the console: beginning, isolation, what is greyed, and the end. */
import { expect } from 'chai';
import type { Request } from 'playwright-core';
import { eventually } from '../../support/cluster-admin.ts';
import { barriers } from './axe.ts';
import { Visitor } from './chromium.ts';
import { greyed, kept, loggedIn, press } from './demo.ts';
import { look, untilAllowed } from './kind-pages.ts';
import { misplaced } from './layout.ts';
import { countOf, hold } from './traffic.ts';

const jane = 'jane@example.com';

describe('a view as another user, in the console', () => {
  const { browser, demo, visitor, page } = loggedIn('admin', '/users', { users: 5 });
  const banner = (tab = page) => tab.getByRole('complementary', { name: 'View as another user' });
  const dialog = (tab = page) => tab.getByRole('dialog');
  const sent: { path: string; method: string; user: string | undefined }[] = [];
  const remember = async (request: Request) => {
    const { pathname } = new URL(request.url());
    if (!/^\/(?:api|apis|auth)\//.test(pathname)) return;
    sent.push({ path: pathname, method: request.method(), user: (await request.allHeaders())['impersonate-user'] });
  };
  before(() => {
    // Pages ask for lists that the viewed user may not see.
    visitor.accepted = /status of 40[34]/;
    // A request of a page that is left has no headers.
    page.on('request', (request) => void remember(request).catch(() => undefined));
  });

  async function begin(tab = page): Promise<void> {
    await tab.goto(`${demo.url}/users`);
    await tab.getByRole('link', { name: 'Jane Doe', exact: true }).click();
    await tab.getByRole('heading', { name: 'Jane Doe' }).waitFor();
    await press(tab, 'More actions');
    await tab.getByRole('menuitem', { name: 'View as', exact: true }).click();
    await dialog(tab).getByText('dev, oncall, local:dev, local:oncall').waitFor();
  }

  it('does not begin after a cancel', async () => {
    await begin();
    const review = await hold(page, 'POST', /\/selfsubjectreviews$/);
    const reloads = countOf(page, 'GET', /\/$/);
    await dialog().getByRole('button', { name: 'View as' }).click();
    await review.begun;
    await press(page, 'Cancel');
    const answered = page.waitForResponse(/\/selfsubjectreviews$/);
    await review.release();
    await answered;
    expect(await reloads()).to.equal(0);
    expect(JSON.stringify(await kept(page))).to.not.include(jane);
  });

  it('begins on the page of a user, after a dialog that names user and groups', async () => {
    await begin();
    await look(page, 'view-as-dialog');
    expect(await barriers(page)).to.deep.equal([]);
    sent.length = 0;
    await dialog().getByRole('button', { name: 'View as' }).click();
    await banner().getByText(`You view the cluster as ${jane}`).waitFor();
    expect(await banner().textContent())
      .to.include('in dev, oncall, local:dev, local:oncall')
      .and.to.include('Reads only, until');
    expect(page.url()).to.not.include('jane');
    await page.getByRole('link', { name: 'Pods', exact: true }).first().click();
    await page
      .getByRole('link', { name: /^cart-/ })
      .first()
      .waitFor();
    await look(page, 'view-as');
    expect(await barriers(page)).to.deep.equal([]);
    expect(await misplaced(page)).to.deep.equal([]);
  });

  it('sends its headers only to the operations that accept them', async () => {
    const accepts = /^\/(?:api\/kubernetes|api\/v2\/resources|auth\/v1\/(?:namespaces|selfsubject)|apis\/auth\.platform\.io\/v1\/users)/;
    await page.reload();
    await page
      .getByRole('link', { name: /^cart-/ })
      .first()
      .waitFor();
    expect(sent.some(({ path }) => accepts.test(path))).to.equal(true);
    await eventually(
      () => sent.some(({ path }) => path === '/api/v2/token/info'),
      (isThere) => isThere,
    );
    const first = sent.findIndex(({ path, user }) => path.includes('selfsubjectreviews') && user === jane);
    const wrong = sent.slice(first).filter(({ path, user }) => (user === jane) !== accepts.test(path));
    expect(wrong).to.deep.equal([]);
  });

  it('shows the user on the overview, and no name, role, session or count of the caller', async () => {
    await page.goto(demo.url);
    const main = page.locator('main');
    await main.getByRole('region', { name: 'User', exact: true }).getByText(jane).waitFor();
    await main.getByRole('region', { name: 'Roles', exact: true }).getByText('admin', { exact: true }).waitFor();
    await main.getByRole('region', { name: 'Workloads that are not ready' }).getByText('cart').waitFor();
    const text = (await main.textContent()) ?? '';
    expect(text).to.include('dev, oncall, local:dev, local:oncall');
    expect(text).not.to.match(/Ada|admin@example\.com|cluster-admin|Session until|Change password|Locked|Failed bindings/);
    expect(await barriers(page)).to.deep.equal([]);
    expect(await misplaced(page)).to.deep.equal([]);
  });

  it('shows what the user sees: no Secrets, and no page of the cluster that only the caller sees', async () => {
    await page.goto(`${demo.url}/r/core/v1/secrets`);
    await page.getByText('You may not').first().waitFor();
    await page.goto(`${demo.url}/r/core/v1/nodes`);
    await page.getByText('You may not').first().waitFor();
  });

  it('greys writing actions, and explains why', async () => {
    await page.goto(`${demo.url}/r/core/v1/pods`);
    await page
      .getByRole('link', { name: /^cart-/ })
      .first()
      .click();
    await page.getByRole('heading', { name: /^cart-/ }).waitFor();
    await press(page, 'More actions');
    await greyed(page, 'Delete').click({ force: true });
    await dialog().getByText(`You view the cluster as ${jane}. A view only reads: stop it to make changes.`).waitFor();
    expect(await barriers(page)).to.deep.equal([]);
    await dialog().getByRole('button', { name: 'Close' }).click();
  });

  it('reads a log as the user', async () => {
    await page.getByRole('link', { name: 'Logs', exact: true }).click();
    await page.locator('.log').first().waitFor();
    await page
      .getByText(/^\d+ lines?\.$/)
      .first()
      .waitFor();
    const logs = await eventually(
      () => sent.filter(({ path }) => path.endsWith('/log')),
      ({ length }) => length > 0,
    );
    expect(logs.map(({ user }) => user))
      .to.include(jane)
      .and.not.to.include(undefined);
  });

  it('fits a phone, in the dark, in each language', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await page.emulateMedia({ colorScheme: 'dark' });
    for (const [language, stop] of [
      ['de', 'Beenden'],
      ['zh', '停止'],
      ['en', 'Stop'],
    ] as const) {
      await page.evaluate(`localStorage.setItem('atrium-language', '${language}')`);
      await page.reload();
      await page.getByRole('button', { name: stop, exact: true }).waitFor();
      expect(await misplaced(page), language).to.deep.equal([]);
      expect(await barriers(page), language).to.deep.equal([]);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.emulateMedia({ colorScheme: null });
  });

  it('stays in its tab, and out of storage that other tabs read', async () => {
    const other = await visitor.openTab();
    await other.goto(`${demo.url}/r/core/v1/nodes`);
    await other.getByRole('heading', { name: 'Nodes' }).waitFor();
    expect(await other.getByRole('complementary', { name: 'View as another user' }).count()).to.equal(0);
    expect(JSON.stringify(await other.evaluate('({ ...localStorage })'))).to.not.include(jane);
    await other.close();
  });

  it('ends by "Stop"', async () => {
    await banner().getByRole('button', { name: 'Stop' }).click();
    await banner().waitFor({ state: 'detached' });
    await page.goto(`${demo.url}/r/core/v1/nodes`);
    await page.getByRole('link', { name: 'demo-1' }).or(page.getByRole('row').nth(1)).first().waitFor();
    expect(JSON.stringify(await kept(page))).to.not.include(jane);
  });

  it('ends by itself', async () => {
    const tab = await visitor.openTab();
    await tab.clock.install();
    await begin(tab);
    await dialog(tab).getByRole('button', { name: 'View as' }).click();
    await banner(tab).waitFor();
    await tab.clock.fastForward('16:00');
    await banner(tab).waitFor({ state: 'detached' });
    await tab.close();
  });

  it('begins on the page of a group, as a user of that group alone', async () => {
    await page.goto(`${demo.url}/groups/dev`);
    await press(page, 'View as');
    await dialog().getByText('atrium:group-view').waitFor();
    await dialog().getByRole('button', { name: 'View as' }).click();
    await banner().getByText('You view the cluster as atrium:group-view').waitFor();
    expect(await banner().textContent()).to.include('in local:dev');
    await banner().getByRole('button', { name: 'Stop' }).click();
    await banner().waitFor({ state: 'detached' });
  });

  it('is greyed for a caller who may not impersonate', async () => {
    await untilAllowed(demo, 'viewer', { verb: 'list', group: 'auth.platform.io', resource: 'users' });
    const other = new Visitor(await browser.newContext());
    const tab = await other.openTab();
    await demo.logIn(tab, 'viewer', '/users');
    await tab.getByRole('link', { name: 'Jane Doe', exact: true }).click();
    await tab.getByRole('heading', { name: 'Jane Doe' }).waitFor();
    await press(tab, 'More actions');
    await greyed(tab, 'View as').waitFor();
    await other.leave();
  });
});

/** The console without a mouse, with other heights of rows, and from right to left. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { eventually } from '../../support/cluster-admin.ts';
import { barriers } from './axe.ts';
import { Visitor } from './chromium.ts';
import { demoInChromium } from './demo.ts';

describe('the keyboard in the console', () => {
  const { browser, demo } = demoInChromium({ users: 5 });
  let visitor: Visitor;
  let page: Page;

  before(async () => {
    visitor = new Visitor(await browser.newContext({ viewport: { width: 1280, height: 800 } }));
    page = await visitor.openTab();
    await demo.logIn(page, 'manager', '/users');
  });
  afterEach(() => expect(visitor.complaints.splice(0)).to.deep.equal([]));

  const palette = () => page.getByRole('dialog', { name: 'Go to' });
  const field = () => palette().getByRole('combobox');
  const focused = () => page.evaluate('document.activeElement.textContent || document.activeElement.tagName');

  it('finds a page by Ctrl+K, and opens it by Enter', async () => {
    await page.keyboard.press('Control+k');
    await palette().getByRole('option', { name: 'Overview' }).waitFor();
    expect(await barriers(page)).to.deep.equal([]);
    await field().fill('bindin');
    await palette().getByRole('option', { name: 'Users' }).waitFor({ state: 'detached' });
    await field().press('Enter');
    await page.getByRole('heading', { name: 'Bindings' }).waitFor();

    expect(await palette().count()).to.equal(0);
  });

  it('opens the palette again by Ctrl+K before its closing is reported', async () => {
    await page.keyboard.press('Control+k');
    await field().fill('old');
    await page.evaluate(`{
      document.querySelector('dialog[open]').close();
      document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true, bubbles: true }));
    }`);
    await field().and(page.locator(':focus')).waitFor();

    expect(await field().inputValue()).to.equal('');
    await page.keyboard.press('Escape');
    await palette().waitFor({ state: 'detached' });
    expect(await palette().count()).to.equal(0);
  });

  it('keeps an open menu below its button when the page moves the button', async () => {
    const button = page.getByRole('button', { name: 'Language' });
    await button.click();
    const menu = page.getByRole('menu', { name: 'Language' });
    const gap = async () => ((await menu.boundingBox())?.y ?? 0) - ((await button.boundingBox())?.y ?? 0);
    const before = await gap();
    await page.evaluate(`document.querySelector('header').style.marginBlockStart = '60px'`);

    await eventually(gap, (now) => now === before);
    expect((await button.boundingBox())?.y).to.be.greaterThan(60);
    await page.evaluate(`document.querySelector('header').style.marginBlockStart = ''`);
    await page.keyboard.press('Escape');
  });

  it('finds users by name and kinds by their short name', async () => {
    await page.keyboard.press('Control+k');
    await field().fill('cm');
    await palette().getByRole('option', { name: 'ConfigMaps' }).waitFor();
    await field().fill('jane');
    await palette().getByRole('option', { name: 'Jane Doe' }).waitFor();
    await field().press('Enter');
    await page.getByRole('heading', { name: 'Jane Doe' }).waitFor();
  });

  it('runs actions, and reports names without a result', async () => {
    await page.keyboard.press('Control+k');
    await field().fill('no such thing');
    await palette().getByText('No results.').waitFor();
    await field().fill('density compact');
    await palette().getByRole('option', { name: 'Density: Compact' }).click();
    expect(await page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--row')")).to.equal('28px');
    await page.keyboard.press('Control+k');
    await field().fill('density normal');
    await palette().getByRole('option', { name: 'Density: Normal' }).click();
    expect(await page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--row')")).to.equal('36px');
    await page.keyboard.press('Control+k');
    await field().waitFor();
    await page.keyboard.press('Escape');
    await palette().waitFor({ state: 'detached' });
  });

  it('cancels Ctrl+K before the palette is loaded, and no other key reaches the page meanwhile', async () => {
    const tab = await visitor.openTab();
    const held = Promise.withResolvers<void>();
    await tab.route(/\/palette-\w+\.js$/, async (route) => {
      await held.promise;
      await route.continue();
    });
    await tab.goto(`${demo.url}/users`);
    await tab.locator('tbody a').first().waitFor();
    const asked = tab.waitForRequest(/\/palette-\w+\.js$/);
    await tab.keyboard.press('Control+k');
    await asked;
    await tab.keyboard.press('j');
    expect(await tab.evaluate('document.activeElement === document.body')).to.equal(true);
    await tab.keyboard.press('Escape');
    const come = tab.waitForResponse(/\/palette-\w+\.js$/);
    held.resolve();
    await (await come).finished();
    await tab.keyboard.press('?');
    await tab.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();

    expect(await tab.getByRole('dialog', { name: 'Go to' }).count()).to.equal(0);
    await tab.close();
  });

  it('offers no forbidden actions', async () => {
    const other = new Visitor(await browser.newContext());
    const tab = await other.openTab();
    await demo.logIn(tab, 'nobody', '/about');
    await tab.keyboard.press('Control+k');
    await tab.getByRole('combobox').fill('new');
    await tab.getByText('No results.').waitFor();

    expect(other.complaints).to.deep.equal([]);
    await other.leave();
  });

  it('goes through rows by j, k and x, opens by Enter, and searches by /', async () => {
    const names = 'tbody a[href^="/users/"]';
    await page.goto(`${demo.url}/users`);
    const first = page.locator(names).first();
    await first.waitFor();
    const people = await page.locator(names).allTextContents();
    await page.keyboard.press('j');
    expect(await focused()).to.equal(people[0]);
    await page.keyboard.press('j');
    expect(await focused()).to.equal(people[1]);
    await page.keyboard.press('k');
    expect(await focused()).to.equal(people[0]);
    await page.keyboard.press('x');
    await page.getByRole('region', { name: 'One selected' }).waitFor();
    await page.keyboard.press('x');
    await page.keyboard.press('/');
    await page.keyboard.type('jkx?');
    expect(await page.getByLabel('Search by name or e-mail').inputValue()).to.equal('jkx?');
    await page.getByLabel('Search by name or e-mail').fill('jane');
    await page.getByRole('link', { name: 'Max Manager' }).waitFor({ state: 'detached' });
    // The first letters match no user.
    await page.getByRole('link', { name: 'Jane Doe' }).waitFor();
    await page.locator('h1').focus();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Jane Doe' }).waitFor();
  });

  it('keeps a typed search until it is applied, with its last space', async () => {
    await page.goto(`${demo.url}/users`);
    await page.locator('tbody a').first().waitFor();
    // Another part of the address changes before the delay after the last key ends. More words may follow a space.
    await page.evaluate(`(() => {
      const field = document.querySelector('main [data-find]');
      field.value = 'jane ';
      field.dispatchEvent(new Event('input', { bubbles: true }));
      document.querySelector('th.c-email button').click();
    })()`);
    await page.waitForURL(/\?sort=email&q=jane$/);
    await page.getByRole('link', { name: 'Max Manager' }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Jane Doe' }).waitFor();

    expect(await page.getByLabel('Search by name or e-mail').inputValue()).to.equal('jane ');
  });

  it('shows its keys after ?, in a dialog that can switch them off', async () => {
    await page.goto(`${demo.url}/users`);
    await page.locator('tbody a').first().waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    expect(await barriers(page)).to.deep.equal([]);
    await page.getByLabel('Single-key shortcuts').uncheck();
    await page.keyboard.press('Escape');
    await page.reload();
    await page.locator('tbody a').first().waitFor();
    await page.keyboard.press('j');
    expect(await page.evaluate('document.activeElement === document.body')).to.equal(true);
    await page.keyboard.press('Control+k');
    await field().fill('shortcuts');
    await field().press('Enter');
    await page.getByLabel('Single-key shortcuts').check();
    await page.keyboard.press('Escape');
  });

  it('has its focus on the heading of a page, even if the content is loaded later', async () => {
    const held = Promise.withResolvers<void>();
    await page.route(/\/auth\/v1\/users\/[^/?]+$/, async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.goto(`${demo.url}/users`);
    await page.getByRole('link', { name: 'Jane Doe' }).press('Enter');
    await page.locator('h1.hidden').waitFor({ state: 'attached' });
    held.resolve();
    await page.getByRole('heading', { name: 'Jane Doe' }).waitFor();
    await eventually(focused, (text) => text === 'Jane Doe');
    await page.unrouteAll({ behavior: 'wait' });
  });

  it('has its focus on the heading when a result replaces a form', async () => {
    await page.goto(`${demo.url}/users/new`);
    await page.getByLabel('E-mail', { exact: true }).fill('by.keys@example.com');
    await page.getByRole('button', { name: 'Create the user' }).press('Enter');
    await page.getByText('Hand over the password now').waitFor();

    await eventually(focused, (text) => text === 'New user');
    await page.getByRole('link', { name: 'Open the user' }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    expect(await focused()).to.equal('Open the user');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'by.keys@example.com' }).waitFor();
    await eventually(focused, (text) => text === 'by.keys@example.com');
  });

  for (const density of ['compact', 'touch'])
    it(`has no barrier with rows that are ${density}`, async () => {
      await page.evaluate(`localStorage.setItem('atrium-density', '${density}')`);
      await page.goto(`${demo.url}/users`);
      await page.locator('tbody a').first().waitFor();

      const height = (await page.locator('tbody tr').first().boundingBox())?.height;
      expect(height).to.equal(density === 'touch' ? 44 : 28);
      expect(await barriers(page)).to.deep.equal([]);
      await page.evaluate("localStorage.removeItem('atrium-density')");
    });

  for (const width of [1280, 390])
    it(`is laid out from right to left at ${width} pixels`, async () => {
      await page.setViewportSize({ width, height: 800 });
      for (const path of ['/', '/users', '/users/new', '/bindings', '/kubeconfig', '/extensions']) {
        await page.goto(`${demo.url}${path}`);
        await page.evaluate("document.documentElement.dir = 'rtl'");
        await page.locator('main h1').waitFor();
        await page.locator('main :is(table, form, dl, .state)').first().waitFor();

        expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), path).to.be.at.most(0);
        expect(await barriers(page), path).to.deep.equal([]);
      }
      if (width > 1000) expect((await page.locator('.side').boundingBox())?.x).to.be.greaterThan(1000);
    });
});

/** Links that are valid once, in the console: created and shown once, mailed, revoked, and not offered without the right. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { z } from 'zod';
import { MailServer } from '../../service/one-time-links/mail-server.ts';
import { forSuite } from '../../support/for-suite.ts';
import { freePort } from '../../support/free-port.ts';
import { barriers } from './axe.ts';
import { startChromium, Visitor } from './chromium.ts';
import { clickBeneath, Demo, greyed, isLoggedIn, loggedIn, press, submitPassword } from './demo.ts';

const listed = z.object({ items: z.array(z.object({ metadata: z.object({ name: z.string() }) })) });

async function openUser(tab: Page, demo: Demo, email: string): Promise<void> {
  const headers = { authorization: `Bearer ${demo.person('admin').token}` };
  const found = listed.parse(await (await fetch(`${demo.url}/auth/v2/users?search=${email}`, { headers })).json());
  await tab.goto(`${demo.url}/users/${found.items[0]?.metadata.name}`);
  await tab.getByRole('button', { name: 'More actions' }).waitFor();
}

async function choose(tab: Page, item: string): Promise<void> {
  await press(tab, 'More actions');
  await tab.getByRole('menuitem', { name: item }).click();
}

describe('the one-time links in the console', () => {
  const { browser, demo, page, visitor } = loggedIn('admin', '/', { users: 2 });
  const dialog = () => page.getByRole('dialog');

  /** Sets a password by a link, in another browser. */
  async function setPassword(link: string, password: string): Promise<{ tab: Page; user: Visitor }> {
    const user = new Visitor(await browser.newContext());
    const tab = await user.openTab();
    await tab.goto(link);
    for (const field of await tab.locator('input[type="password"]').all()) await field.fill(password);
    await tab.locator('form button').first().click();
    return { tab, user };
  }

  it('are created for a user, shown once, and set the password once', async () => {
    await openUser(page, demo, 'priya@example.com');
    await choose(page, 'Make a one-time link');
    expect(await barriers(page)).to.deep.equal([]);
    expect(await dialog().getByLabel('Purpose').inputValue()).to.equal('invite');
    await dialog().getByLabel('Purpose').selectOption('password');
    await dialog().getByText('Valid for 30 minutes').waitFor();
    await dialog().getByRole('button', { name: 'Make the link' }).click();
    const link = (await dialog().locator('pre').textContent()) ?? '';
    expect(await barriers(page)).to.deep.equal([]);
    // The dialog must not scroll, so that its buttons are visible.
    expect(await dialog().evaluate((place) => place.scrollWidth - place.clientWidth)).to.equal(0);
    expect(link).to.match(/^http:\/\/\S+\/identity\/link\/\S+$/);
    await dialog().getByRole('button', { name: 'Done' }).click();
    await dialog().waitFor({ state: 'detached' });
    expect(await page.content()).not.to.contain(link);
    const { tab, user } = await setPassword(link, 'a passphrase by a link');
    await tab.getByRole('heading', { name: 'Your password is set' }).waitFor();
    await tab.goto(demo.url);
    await press(tab, 'Log in');
    await submitPassword(tab, { email: 'priya@example.com', password: 'a passphrase by a link' });
    await tab.getByText('The password was set by a link.').waitFor();
    await press(tab, 'Continue');
    await isLoggedIn(tab, 'priya@example.com');
    expect(user.complaints.splice(0)).to.deep.equal([]);
    const again = await tab.goto(link);

    expect(again?.status()).to.equal(410);
    await user.leave();
  });

  it('are not offered as an invitation after a first login', async () => {
    await page.reload();
    await choose(page, 'Make a one-time link');

    expect(await dialog().getByLabel('Purpose').locator('option').allTextContents()).to.deep.equal(['Forgotten password', 'Second factor']);
    await dialog().getByRole('button', { name: 'Cancel' }).click();
  });

  it('also set up a second factor, on a page that asks for the password first', async () => {
    await choose(page, 'Make a one-time link');
    await dialog().getByLabel('Purpose').selectOption('enrol');
    await dialog().getByText('that replaces the existing ones').waitFor();
    await dialog().getByRole('button', { name: 'Make the link' }).click();
    const link = (await dialog().locator('pre').textContent()) ?? '';
    await dialog().getByRole('button', { name: 'Done' }).click();
    const { tab, user } = await setPassword(link, 'a passphrase by a link');
    await tab.locator('#code').waitFor();

    expect(user.complaints.splice(0)).to.deep.equal([]);
    await user.leave();
  });

  it('are invalid after all links are revoked', async () => {
    await choose(page, 'Make a one-time link');
    await dialog().getByRole('button', { name: 'Make the link' }).click();
    const link = (await dialog().locator('pre').textContent()) ?? '';
    await dialog().getByRole('button', { name: 'Done' }).click();
    await choose(page, 'Revoke all links');
    expect(await barriers(page)).to.deep.equal([]);
    await dialog().getByRole('button', { name: 'Revoke all links' }).click();
    await page.getByText('Earlier links of').waitFor();

    expect((await fetch(link)).status).to.equal(410);
  });

  it('report a missing mail server at the field, and create the link', async () => {
    await choose(page, 'Make a one-time link');
    await dialog().getByLabel('Delivery').selectOption('mail');
    await dialog().getByRole('button', { name: 'Mail the link' }).click();
    await dialog().locator('.wrong').getByText('there is no mail server').waitFor();
    expect(await barriers(page)).to.deep.equal([]);
    await visitor.complainsOf('status of 422');
    await dialog().getByLabel('Delivery').selectOption('hand');
    await dialog().getByRole('button', { name: 'Make the link' }).click();
    await dialog().locator('pre').waitFor();
    await dialog().getByRole('button', { name: 'Done' }).click();
  });

  it('wait for a recent login, and keep the choices', async () => {
    let isRefused = false;
    const message = 'this operation requires a recent login: log in again';
    await page.route(/\/links$/, async (route) => {
      if (isRefused) return route.continue();
      isRefused = true;
      await route.fulfill({
        status: 401,
        headers: { 'WWW-Authenticate': 'Bearer realm="atrium", error="insufficient_user_authentication", max_age="0"' },
        json: {
          ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', reason: 'Unauthorized', message, code: 401 },
          details: { causes: [{ reason: 'StepUpRequired', message }] },
        },
      });
    });
    await choose(page, 'Make a one-time link');
    await dialog().getByRole('button', { name: 'Make the link' }).click();
    const opened = page.waitForEvent('popup');
    await page.getByRole('dialog', { name: 'Log in once more' }).getByRole('button', { name: 'Log in again' }).click();
    await submitPassword(await opened, demo.person('admin'));
    await dialog().locator('pre').waitFor();

    await visitor.complainsOf('status of 401');
    await dialog().getByRole('button', { name: 'Done' }).click();
    await page.unrouteAll();
  });

  it('are greyed for users without the right, and name it', async () => {
    const office = new Visitor(await browser.newContext());
    const tab = await office.openTab();
    await demo.logIn(tab, 'viewer');
    await openUser(tab, demo, 'priya@example.com');
    await press(tab, 'More actions');
    await clickBeneath(greyed(tab, 'Make a one-time link'));
    await tab.getByRole('dialog').getByText('create users/links.auth.platform.io').waitFor();

    expect(await barriers(tab)).to.deep.equal([]);
    expect(office.complaints).to.deep.equal([]);
    await office.leave();
  });
});

describe('the one-time links in the console, with a mail server', () => {
  const mails = forSuite(
    async () => {
      const port = await freePort();
      return { port, server: await MailServer.start({ port, key: '', cert: '', offersTLS: false }) };
    },
    ({ server }) => server.stop(),
  );
  const browser = forSuite(startChromium, (it) => it.close());
  const demo = forSuite(() => Demo.start({ users: 2, smtpPort: mails.port }));

  it('are mailed, and not shown', async () => {
    const office = new Visitor(await browser.newContext());
    const page = await office.openTab();
    await demo.logIn(page, 'admin');
    await openUser(page, demo, 'priya@example.com');
    await choose(page, 'Make a one-time link');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Delivery').selectOption('mail');
    await dialog.getByRole('button', { name: 'Mail the link' }).click();
    await dialog.getByText('The link is on its way to priya@example.com.').waitFor();
    // The review of bindings that the demo has mails their owners, too.
    const toUser = () => mails.server.mails.filter(({ to }) => to.includes('priya@example.com'));
    await mails.server.until(() => toUser().length > 0);

    expect(toUser().map(({ to }) => to)).to.deep.equal([['priya@example.com']]);
    expect((await fetch(toUser()[0]?.link ?? '')).status).to.equal(200);
    expect(await page.content()).not.to.contain('/identity/link/');
    expect(await barriers(page)).to.deep.equal([]);
    expect(office.complaints).to.deep.equal([]);
    await office.leave();
  });
});

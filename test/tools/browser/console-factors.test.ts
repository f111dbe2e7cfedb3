/** Second factors: set up at the issuer's page, renamed and removed in the console after a recent login, and reset by a manager. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { codeOf } from '../../service/factors/person.ts';
import { barriers } from './axe.ts';
import { Visitor } from './chromium.ts';
import { clickBeneath, loggedIn, press, submitPassword } from './demo.ts';

describe('the second factors in the console', () => {
  const { browser, demo, page, visitor } = loggedIn('viewer', '/', { users: 2 });
  const codes: string[] = [];

  /** Answers the next request as the service does without a recent login. Later requests reach the service. */
  async function refuseOnce(method: string, maxAge: number): Promise<void> {
    const message = 'this operation requires a recent login: log in again';
    const details = { causes: [{ reason: 'StepUpRequired', message }] };
    let isRefused = false;
    await page.route(/\/factors\/t-/, async (route) => {
      if (isRefused || route.request().method() !== method) return route.continue();
      isRefused = true;
      await route.fulfill({
        status: 401,
        headers: { 'WWW-Authenticate': `Bearer realm="atrium", error="insufficient_user_authentication", max_age="${maxAge}"` },
        json: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', reason: 'Unauthorized', message, details, code: 401 },
      });
    });
  }

  async function enterCode(tab: Page, code: string): Promise<void> {
    await tab.locator('#code').fill(code);
    await tab.locator('#code').press('Enter');
  }

  const factor = (name: string) => page.getByRole('row').filter({ hasText: name });

  it('are set up at the page of the issuer, which leads back to the page in the console', async () => {
    await page.getByRole('link', { name: 'Second factors' }).click();
    await page.getByText('No second factor is set up.').waitFor();
    expect(await barriers(page)).to.deep.equal([]);
    const address = page.url();
    await press(page, 'Set up an authenticator app');
    await page.locator('#email').waitFor();
    await submitPassword(page, demo.person('viewer'));
    const secret = (await page.locator('.key').textContent()) ?? '';
    expect(await barriers(page)).to.deep.equal([]);
    await enterCode(page, codeOf(secret.replaceAll(' ', '')));
    await page.locator('.codes li').first().waitFor();
    codes.push(...(await page.locator('.codes li').allTextContents()));
    expect(await barriers(page)).to.deep.equal([]);
    await page.locator('button').click();
    await factor('Authenticator app').waitFor();

    expect(page.url()).to.equal(address);
    expect(await factor('Recovery codes').textContent()).to.contain('10 left');
    expect(await barriers(page)).to.deep.equal([]);
  });

  it('keep their name if the recent login is cancelled, and the typed text stays', async () => {
    await factor('Authenticator app').getByRole('button', { name: 'Rename' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('work phone');
    await refuseOnce('PATCH', 120);
    await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click();
    const asked = page.getByRole('dialog', { name: 'Log in once more' });
    await asked.getByText('This action requires a login within the last 2 minutes.').waitFor();
    expect(await barriers(page)).to.deep.equal([]);
    await asked.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').getByText('this operation requires a recent login').waitFor();

    expect(await page.getByRole('dialog').getByLabel('Name').inputValue()).to.equal('work phone');
    expect(await page.getByRole('dialog', { name: 'Your session is over' }).count()).to.equal(0);
    await visitor.complainsOf('status of 401');
    await page.unrouteAll();
    await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click();
    await factor('work phone').waitFor();
  });

  it('are removed once the user has logged in again, in a tab that closes itself', async () => {
    await factor('work phone').getByRole('button', { name: 'Remove' }).click();
    await refuseOnce('DELETE', 0);
    await page.getByRole('dialog').getByRole('button', { name: 'Remove work phone' }).click();
    const opened = page.waitForEvent('popup');
    await page.getByRole('dialog', { name: 'Log in once more' }).getByRole('button', { name: 'Log in again' }).click();
    const other = await opened;
    await submitPassword(other, demo.person('viewer'));
    await enterCode(other, codes[0] ?? '');
    await press(other, 'Continue');
    await page.getByText('No second factor is set up.').waitFor();

    if (!other.isClosed()) await other.waitForEvent('close');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await visitor.complainsOf('status of 401');
    await page.unrouteAll();
  });

  it('are reset by a manager, and the password alone suffices then', async () => {
    await press(page, 'Set up an authenticator app');
    await submitPassword(page, demo.person('viewer'));
    await page.getByText('A recovery code was used.').waitFor();
    await press(page, 'Continue');
    const secret = (await page.locator('.key').textContent()) ?? '';
    await enterCode(page, codeOf(secret.replaceAll(' ', '')));
    await page.locator('.codes li').first().waitFor();
    await page.locator('button').click();
    await factor('Authenticator app').waitFor();
    const { pathname } = new URL(page.url());
    const office = new Visitor(await browser.newContext());
    const tab = await office.openTab();
    await demo.logIn(tab, 'admin', pathname);
    await tab.getByRole('row').filter({ hasText: 'Authenticator app' }).waitFor();
    expect(await tab.getByRole('button', { name: 'Remove' }).count()).to.equal(0);
    await press(tab, 'Reset second factors');
    expect(await barriers(tab)).to.deep.equal([]);
    await tab.getByRole('dialog').getByRole('button', { name: 'Reset second factors' }).click();
    await tab.getByText('No second factor is set up.').waitFor();

    expect(office.complaints).to.deep.equal([]);
    await clickBeneath(page.getByRole('link', { name: 'Groups' }));
    await page.getByRole('dialog', { name: 'Your session is over' }).waitFor();
    await visitor.complainsOf('status of 401');
    await office.leave();
  });
});

/** Strip about the state of the audit, on every page but Activity. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { eventually } from '../../support/cluster-admin.ts';
import { expectAccessible } from './axe.ts';
import { loggedIn } from './demo.ts';

describe('the strip about the state of the audit', () => {
  const { browser, demo, page } = loggedIn('admin', '/');
  const kept = {
    ...{ apiVersion: 'auth.platform.io/v1', kind: 'AuditStatus', delivery: 'besteffort', store: 'Available', spool: 'Available' },
    ...{ waiting: 0, lost: 0 },
  };
  const nearlyFull = { ...kept, usage: { bytes: 95 * 2 ** 20, maxBytes: 100 * 2 ** 20, isNearlyFull: true, whenFull: 'refuse' } };
  let [status, hasAlert]: [object, boolean] = [nearlyFull, true];
  const text = 'The audit store is nearly full: it uses 95 of 100 MiB.';
  const stripOf = (tab: Page) => tab.getByRole('banner').getByRole('status').filter({ hasText: text });

  async function answer(tab: Page): Promise<void> {
    await tab.route('**/auth/v1/audit/status', (route) => route.fulfill({ json: status }));
    await tab.route('**/api/v2/token/info', async (route) => {
      const response = await route.fetch();
      const info = (await response.json()) as { ext: object };
      await route.fulfill({ response, json: { ...info, ext: { ...info.ext, ...(hasAlert && { audit_alert: true }) } } });
    });
  }

  before(async () => {
    await answer(page);
    await page.clock.install();
  });

  it('is shown on other pages than Activity, leads there, and goes with the state', async () => {
    await page.goto(`${demo.url}/users`);
    await stripOf(page).waitFor();
    await expectAccessible(page);
    await stripOf(page).getByRole('link', { name: 'Activity' }).press('Enter');
    await page.getByRole('main').getByRole('status').filter({ hasText: text }).waitFor();
    expect(await stripOf(page).count()).to.equal(0);
    await page.goBack();
    await stripOf(page).waitFor();
    status = kept;
    await eventually(
      async () => {
        await page.clock.fastForward(31_000);
        return stripOf(page).count();
      },
      (count) => count === 0,
    );
  });

  it('appears and goes once the user returns to the window', async () => {
    [status, hasAlert] = [nearlyFull, false];
    const begun = page.waitForResponse('**/api/v1/console-plugins');
    await page.goto(`${demo.url}/users`);
    await begun;
    const goBack = async () => {
      await page.clock.fastForward(61_000);
      await page.evaluate('dispatchEvent(new Event("focus"))');
    };
    hasAlert = true;
    await goBack();
    await stripOf(page).waitFor();
    hasAlert = false;
    await goBack();
    await stripOf(page).waitFor({ state: 'detached' });
  });

  it('is shown after a login', async () => {
    [status, hasAlert] = [nearlyFull, true];
    const tab = await (await browser.newContext()).newPage();
    await answer(tab);
    await demo.logIn(tab, 'admin', '/users');
    await stripOf(tab).waitFor();
    await tab.context().close();
  });
});

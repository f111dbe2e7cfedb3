/** The pages of the embedded identity provider: no barrier in either theme and on a phone, and in the colours of the installation. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { eventually } from '../../support/cluster-admin.ts';
import { barriers } from './axe.ts';
import { Visitor } from './chromium.ts';
import { demoInChromium, press, submitPassword } from './demo.ts';

const screens = [
  { name: 'light', colorScheme: 'light', viewport: { width: 1280, height: 800 } },
  { name: 'dark', colorScheme: 'dark', viewport: { width: 1280, height: 800 } },
  { name: 'phone', colorScheme: 'light', viewport: { width: 390, height: 780 } },
] as const;

describe('the look of the login pages', () => {
  const { browser, demo } = demoInChromium({ users: 2 });

  async function expectNoBarrier(page: Page, visitor: Visitor): Promise<void> {
    expect(await barriers(page)).to.deep.equal([]);
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).to.be.at.most(0);
    expect(visitor.complaints.splice(0)).to.deep.equal([]);
  }

  async function setBrand(data: Record<string, string>): Promise<void> {
    const path = 'api/v1/namespaces/atrium-system/configmaps/console-environment';
    const headers = { authorization: `Bearer ${demo.person('admin').token}`, 'content-type': 'application/merge-patch+json' };
    const answer = await fetch(`${demo.url}/api/kubernetes/${path}`, { method: 'PATCH', headers, body: JSON.stringify({ data }) });
    expect(answer.status).to.equal(200);
    await eventually(
      async () => (await (await fetch(`${demo.url}/api/v1/envs`)).json()) as Record<string, string>,
      (told) => Object.entries(data).every(([name, value]) => told[name] === value),
    );
  }

  for (const { name, colorScheme, viewport } of screens)
    it(`has no barrier from login to logout: ${name}`, async () => {
      const visitor = new Visitor(await browser.newContext({ colorScheme, viewport }));
      const page = await visitor.openTab();
      await page.goto(demo.url);
      await press(page, 'Log in');
      await page.locator('#email').waitFor();
      await expectNoBarrier(page, visitor);
      await submitPassword(page, { email: demo.person('nobody').email, password: 'not the password' });
      await page.locator('#problem').waitFor();
      await visitor.complainsOf('403');
      await expectNoBarrier(page, visitor);
      await submitPassword(page, demo.person('nobody'));
      await page.locator('.shell').waitFor();
      const identity = `${demo.url}/identity`;
      await page.goto(`${identity}/device`);
      await page.locator('#code').waitFor();
      await expectNoBarrier(page, visitor);
      await page.goto(`${identity}/session/end`);
      await page.getByRole('button', { name: 'Log out' }).waitFor();
      await expectNoBarrier(page, visitor);
      await press(page, 'Log out');
      await page.getByRole('link').waitFor();
      await expectNoBarrier(page, visitor);
      await visitor.leave();
    });

  it('has the name, the logo and the colours of the installation, on both sides of a login', async () => {
    await setBrand({
      'brand.title': 'Example Cloud',
      'brand.logo': '/api/v1/cm/console-logo/mark.svg',
      'brand.accentLight': '#7a1fa2',
      'brand.accentDark': '#555555',
    });
    const visitor = new Visitor(await browser.newContext({ colorScheme: 'light' }));
    const page = await visitor.openTab();
    await page.goto(demo.url);
    await page.getByRole('heading', { name: 'Example Cloud' }).waitFor();
    const color = (target: string) => page.evaluate(`getComputedStyle(document.querySelector('${target}')).backgroundColor`);
    // The colour of the settings overrides the console's own after a moment.
    await eventually(
      () => color('.button.main'),
      (shown) => shown === 'rgb(122, 31, 162)',
    );
    await press(page, 'Log in');
    await page.locator('#email').waitFor();
    expect(await page.title()).to.contain('Example Cloud');
    expect(await page.locator('main img').getAttribute('src')).to.equal('/api/v1/cm/console-logo/mark.svg');
    expect(await color('button')).to.equal('rgb(122, 31, 162)');
    await expectNoBarrier(page, visitor);
    await submitPassword(page, demo.person('nobody'));
    await page.locator('.shell').waitFor();
    await page.getByText('Your identity').first().waitFor();
    await expectNoBarrier(page, visitor);
    // Grey on dark grey has too little contrast, so the console keeps its own colour.
    await page.emulateMedia({ colorScheme: 'dark' });
    await eventually(
      () => page.evaluate("getComputedStyle(document.querySelector('.side a[aria-current]')).color"),
      (color) => color === 'rgb(127, 176, 255)',
    );
    await expectNoBarrier(page, visitor);
    await visitor.leave();
  });
});

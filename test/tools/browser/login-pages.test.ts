/** Less frequent pages of a login: a due password, a consent, a device, second factors. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { z } from 'zod';
import { codeOf, wrongCodeOf } from '../../service/factors/person.ts';
import { barriers } from './axe.ts';
import { Visitor } from './chromium.ts';
import { demoInChromium, press, submitPassword } from './demo.ts';
import { picture } from './picture.ts';

const screens = [
  { name: 'light', colorScheme: 'light', viewport: { width: 1280, height: 800 } },
  { name: 'dark', colorScheme: 'dark', viewport: { width: 1280, height: 800 } },
  { name: 'phone', colorScheme: 'light', viewport: { width: 390, height: 780 } },
] as const;

const listed = z.object({ items: z.array(z.object({ metadata: z.object({ name: z.string() }) })) });
const device = z.object({ user_code: z.string() });

for (const { name: screen, colorScheme, viewport } of screens)
  describe(`the further pages of a login: ${screen}`, () => {
    const { browser, demo } = demoInChromium({ users: 2 });
    let visitor: Visitor;
    let page: Page;

    beforeEach(async () => {
      visitor = new Visitor(await browser.newContext({ colorScheme, viewport }));
      page = await visitor.openTab();
    });
    afterEach(() => visitor.leave());

    async function look(what: string): Promise<void> {
      expect(await barriers(page)).to.deep.equal([]);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).to.be.at.most(0);
      expect(visitor.complaints.splice(0)).to.deep.equal([]);
      await picture(page, `login ${what} ${screen}`);
    }

    it('change a due password first', async () => {
      const headers = { authorization: `Bearer ${demo.person('admin').token}`, 'content-type': 'application/json' };
      const { email } = demo.person('nobody');
      const found = listed.parse(await (await fetch(`${demo.url}/auth/v2/users?search=${email}`, { headers })).json());
      const body = JSON.stringify({ spec: { password: 'one that was told by phone' } });
      const reset = await fetch(`${demo.url}/auth/v1/users/${found.items[0]?.metadata.name}`, { method: 'PATCH', headers, body });
      expect(reset.status).to.equal(200);
      await page.goto(demo.url);
      await press(page, 'Log in');
      await submitPassword(page, { email, password: 'one that was told by phone' });
      await page.locator('input[type="password"]').nth(1).waitFor();

      await look('password due');
    });

    it('show the scopes of a client that needs consent', async () => {
      await demo.logIn(page, 'viewer');
      await page.goto(`${demo.url}/api/v2/token/redirect?token_storage=cookie&prompt=consent`);
      await page.locator('form button').first().waitFor();
      expect(page.url()).to.contain('/identity/');

      await look('consent');
    });

    it('show the code of a device for confirmation', async () => {
      const body = new URLSearchParams({ client_id: 'kubectl', scope: 'openid' });
      const { user_code: code } = device.parse(await (await fetch(`${demo.url}/identity/device/auth`, { method: 'POST', body })).json());
      await page.goto(`${demo.url}/identity/device`);
      await page.locator('#code').fill(code);
      await page.locator('#code').press('Enter');
      await page.locator('p.code').waitFor();

      await look('device confirm');
    });

    it('set up second factors with recovery codes, and ask for them', async () => {
      await demo.logIn(page, 'manager');
      await page.goto(`${demo.url}/api/v2/token/redirect?token_storage=cookie&prompt=enrol&factor=totp`);
      await page.locator('#email, .key').first().waitFor();
      if (await page.locator('#email').isVisible()) await submitPassword(page, demo.person('manager'));
      await page.locator('.key').waitFor();
      await look('factor set up');
      const secret = ((await page.locator('.key').textContent()) ?? '').replaceAll(' ', '');
      await page.locator('#code').fill(codeOf(secret));
      await page.locator('#code').press('Enter');
      await page.locator('.codes li').first().waitFor();
      await look('recovery codes');
      await page.locator('main form button').first().click();
      await page.locator('.shell').waitFor();
      const again = new Visitor(await browser.newContext({ colorScheme, viewport }));
      page = await again.openTab();
      await page.goto(demo.url);
      await press(page, 'Log in');
      await submitPassword(page, demo.person('manager'));
      await page.locator('#code').waitFor();
      await look('factor asked');
      await page.locator('#code').fill(wrongCodeOf(secret));
      await page.locator('#code').press('Enter');
      await page.locator('#problem').waitFor();
      await again.complainsOf('403');
      await look('factor wrong');
      await again.leave();
    });
  });

/** A slow and a failing service in the console. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { statusBody } from '../../../packages/kubernetes/test/fake-api-server.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { barriers } from './axe.ts';
import { demoInChromium, press } from './demo.ts';
import { Traffic } from './traffic.ts';

describe('the console with a slow or failing service', () => {
  const { browser, demo } = demoInChromium({ users: 5 });
  let page: Page;
  const list = /\/auth\/v2\/users\?(?!.*watch)/;
  const failure = (code: number, reason: string, message: string, retryAfterSeconds = 2) => ({
    status: code,
    contentType: 'application/json',
    headers: { 'X-Request-Id': 'request-1' },
    body: JSON.stringify({ ...statusBody(code, reason, message), details: { retryAfterSeconds } }),
  });

  before(async () => {
    page = await (await browser.newContext()).newPage();
    await demo.logIn(page, 'manager');
  });
  afterEach(() => page.unrouteAll({ behavior: 'ignoreErrors' }));

  it('shows the failure with the ID of the request, counts down, and retries by itself', async () => {
    const tab = await (await browser.newContext()).newPage();
    await demo.logIn(tab, 'manager');
    await tab.clock.install();
    await tab.route(list, (route) => route.fulfill(failure(503, 'ServiceUnavailable', 'kubernetes is out of reach', 600)));
    await tab.goto(`${demo.url}/users`);
    await tab.getByText('kubernetes is out of reach').waitFor();

    expect(await tab.getByRole('alert').textContent()).to.contain('request-1');
    expect(await tab.getByRole('button', { name: /^Try again in \d+ s$/ }).getAttribute('aria-disabled')).to.equal('true');
    expect(await barriers(tab)).to.deep.equal([]);
    // The time that the answer names is waited for.
    const asked = await Traffic.of(tab);
    await tab.clock.runFor(590_000);
    expect(asked.matching(list)).to.deep.equal([]);
    await tab.unrouteAll();
    await tab.clock.runFor(60_000);
    await tab.getByRole('link', { name: 'Ada Admin' }).waitFor();
    await tab.context().close();
  });

  it('shows a skeleton while it waits, and then the rows', async () => {
    const held = Promise.withResolvers<void>();
    await page.route(list, async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.goto(`${demo.url}/users`);
    await page.locator('.skeleton div').first().waitFor();

    expect(await barriers(page)).to.deep.equal([]);
    held.resolve();
    await page.getByRole('link', { name: 'Ada Admin' }).waitFor();
  });

  describe('whose stream is lost', () => {
    const since = () => page.getByRole('status').filter({ hasText: /^Not up to date since \d/ });
    const table = () => page.locator('section.table');

    const streams = [
      { what: 'the users', path: '/users', row: 'Ada Admin', stream: /\/auth\/v2\/users\?.*watch=true/ },
      { what: 'groups', path: '/groups', row: 'Developers', stream: /\/v1\/groups\?.*watch=true/ },
      {
        what: 'a kind that the service lists',
        path: '/r/core/v1/configmaps/ns/atrium-system',
        row: 'console-logo',
        stream: /\/api\/v2\/resources\/core\/v1\/configmaps\/namespaces\/atrium-system\?.*watch=true/,
      },
      {
        what: 'a kind that the API server lists',
        path: '/r/core/v1/serviceaccounts/ns/atrium-system',
        row: 'atrium',
        stream: /\/namespaces\/atrium-system\/serviceaccounts\?.*watch=true/,
      },
    ];
    for (const { what, path, row, stream } of streams) {
      it(`shows the age of ${what}, greys the rows, and reverts both when the stream is back`, async () => {
        page = await (await browser.newContext()).newPage();
        await demo.logIn(page, 'admin');
        await page.route(stream, (route) => route.abort());
        await page.goto(`${demo.url}${path}`);
        await page.getByRole('link', { name: row, exact: true }).waitFor();
        await since().waitFor();

        expect(await table().getAttribute('class')).to.contain('old');
        expect(await barriers(page)).to.deep.equal([]);
        await page.unrouteAll();
        await since().waitFor({ state: 'detached' });
        expect(await table().getAttribute('class')).not.to.contain('old');
      });
    }

    it('shows the failure while the list cannot be read again', async () => {
      page = await (await browser.newContext()).newPage();
      await demo.logIn(page, 'admin');
      let isDown = false;
      const answer = failure(503, 'ServiceUnavailable', 'kubernetes is out of reach', 1);
      // The first read succeeds, and later ones fail.
      await page.route(/\/auth\/v2\/users\?.*watch=true/, (route) => {
        isDown = true;
        return route.fulfill(answer);
      });
      await page.route(list, (route) => (isDown ? route.fulfill(answer) : route.continue()));
      await page.goto(`${demo.url}/users`);
      await since().filter({ hasText: 'kubernetes is out of reach' }).waitFor();

      expect(await table().getAttribute('class')).to.contain('old');
      expect(await since().textContent()).to.contain('request-1');
      expect(await page.getByRole('link', { name: 'Ada Admin' }).count()).to.equal(1);
      expect(await barriers(page)).to.deep.equal([]);
      await page.unrouteAll();
      await since().waitFor({ state: 'detached' });
    });
  });

  it('keeps a form whose write caused a conflict, and reports it', async () => {
    await page.goto(`${demo.url}/users?q=jane`);
    await page.getByRole('link', { name: 'Jane Doe' }).click();
    await press(page, 'Edit');
    const name = page.getByRole('dialog').getByLabel('Name', { exact: true });
    await name.fill('Jane Later');
    const headers = { authorization: `Bearer ${demo.person('manager').token}`, 'content-type': 'application/json' };
    const address = page.url().replace('/users/', '/auth/v1/users/');
    expect((await fetch(address, { method: 'PATCH', headers, body: '{"spec":{"username":"Jane Sooner"}}' })).status).to.equal(200);
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').getByRole('cell', { name: 'Jane Sooner' }).waitFor();

    expect(await name.inputValue()).to.equal('Jane Later');
  });

  describe('that cannot reach the cluster', () => {
    const discovery = /\/api\/kubernetes\/apis?$/;
    const menu = () => page.getByRole('navigation', { name: 'Pages' });

    /** Opens a page whose clock is stopped, with a failing discovery. */
    async function openWith(code: number): Promise<{ asked: () => number }> {
      let asked = 0;
      page = await (await browser.newContext()).newPage();
      await demo.logIn(page, 'admin');
      await page.route(discovery, (route) => {
        asked += 1;
        return route.fulfill(failure(code, code === 404 ? 'NotFound' : 'ServiceUnavailable', 'no cluster'));
      });
      await page.clock.install();
      await page.goto(`${demo.url}/about`);
      // Discovery sends two requests: the core group, and the others.
      await eventually(
        () => asked,
        (count) => count > 1,
      );
      await menu().getByRole('link', { name: 'Groups' }).waitFor();
      return { asked: () => asked };
    }

    it('has no kinds in its menu, and finds them when the cluster recovers', async () => {
      await openWith(503);
      expect(await menu().getByRole('link', { name: 'ConfigMaps' }).count()).to.equal(0);
      await page.unrouteAll();

      // The delay begins when the page has read the refusal.
      await eventually(
        async () => {
          await page.clock.runFor(5000);
          return menu().getByRole('link', { name: 'ConfigMaps' }).count();
        },
        (count) => count === 1,
      );
    });

    it('does not retry after 404', async () => {
      const { asked } = await openWith(404);
      const before = asked();
      await page.clock.runFor(20_000);
      await page.evaluate("fetch('/version')");

      expect(asked()).to.equal(before);
      expect(await menu().getByRole('link', { name: 'ConfigMaps' }).count()).to.equal(0);
    });
  });
});

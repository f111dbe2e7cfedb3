/** The list of recent events in the console: the latest first, grouped by object and reason, live. */
import { expect } from 'chai';
import { barriers } from './axe.ts';
import { chooseNamespace, loggedIn } from './demo.ts';

describe('the page of recent events in the console', () => {
  const { demo, page } = loggedIn('admin', '/');
  const rows = () => page.getByRole('table', { name: 'Recent events' }).locator('tbody tr');
  const warn = async (name: string, message: string) => {
    const body = {
      ...{ apiVersion: 'v1', kind: 'Event', metadata: { name, namespace: 'shop' }, type: 'Warning', reason: 'Tested', message, count: 2 },
      involvedObject: { apiVersion: 'v1', kind: 'Service', name: 'storefront', namespace: 'shop' },
      ...{ firstTimestamp: new Date().toISOString(), lastTimestamp: new Date().toISOString() },
    };
    const response = await fetch(`${demo.url}/api/kubernetes/api/v1/namespaces/shop/events`, {
      method: 'POST',
      headers: { authorization: `Bearer ${demo.person('admin').token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect(response.status, await response.text()).to.equal(201);
  };

  it('lists warnings and other events of all namespaces by time, the latest first, with links to their objects', async () => {
    await page.getByRole('link', { name: 'Recent events' }).click();
    await rows().getByText('Normal').first().waitFor();
    const types = await rows().locator('td:first-child').allTextContents();
    const times = await Promise.all(
      (await rows().locator('time').all()).map(async (one) => Date.parse((await one.getAttribute('datetime')) ?? '')),
    );

    expect(types).to.include('Warning');
    expect(times)
      .to.have.lengthOf(types.length)
      .and.to.deep.equal(times.toSorted((a, b) => b - a));
    expect(await barriers(page)).to.deep.equal([]);
    for (const width of [390, 768, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      expect(await page.evaluate('document.documentElement.scrollWidth')).to.be.at.most(width);
    }
    const link = rows().getByRole('link').first();
    const name = await link.textContent();
    await link.click();
    await page.getByRole('heading', { level: 1, name: name ?? '' }).waitFor();
  });

  it('adds events without a reload, as a row for each object and reason', async () => {
    await page.goto(`${demo.url}/events/shop`);
    await rows().first().waitFor();
    await warn('first', 'the first message');
    await rows().getByText('the first message').waitFor();
    await warn('second', 'the second message');
    await rows().getByText('the second message').waitFor();

    const row = rows().filter({ hasText: 'Tested' });
    expect(await row.count()).to.equal(1);
    expect(await row.locator('[data-title="Times"]').textContent()).to.equal('4');
    await page.getByPlaceholder('Find events').fill('service/storefront');
    await rows().nth(1).waitFor({ state: 'detached' });
    expect(await rows().allTextContents()).to.have.lengthOf(1);
    await page.getByPlaceholder('Find events').fill('no such words');
    await page.getByText('No event matches.').waitFor();
  });

  it('continues from a version once the tab is visible again, and does not read all events', async () => {
    const watches: URLSearchParams[] = [];
    const isWatch = (url: URL) => url.pathname.endsWith('/events') && url.searchParams.has('watch');
    page.on('request', (request) => {
      const url = new URL(request.url());
      if (isWatch(url)) watches.push(url.searchParams);
    });
    const nextWatch = () => page.waitForRequest((request) => isWatch(new URL(request.url())));
    const become = (state: string) =>
      page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true });
        document.dispatchEvent(new Event('visibilitychange'))`);
    const first = nextWatch();
    await page.goto(`${demo.url}/events/shop`);
    await first;
    await become('hidden');
    await warn('hidden', 'while the tab was hidden');
    const second = nextWatch();
    await become('visible');
    await rows().getByText('while the tab was hidden').waitFor();
    await second;
    await warn('visible', 'once the tab is visible');
    await rows().getByText('once the tab is visible').waitFor();

    expect(watches).to.have.lengthOf(2);
    for (const asked of watches) expect(asked.get('resourceVersion')).to.match(/^\d+$/);
  });

  it('changes the namespace by the choice of the top bar', async () => {
    await page.goto(`${demo.url}/events`);
    await chooseNamespace(page, 'payments');
    await page.waitForURL('**/events/payments');
    await rows().getByText('checkout').first().waitFor();

    expect(await rows().getByText('cart-').count()).to.equal(0);
  });
});

describe('the page of recent events in the console of a caller without rights', () => {
  const { demo, page } = loggedIn('nobody', '/');

  it('names the missing right and shows no table', async () => {
    await page.goto(`${demo.url}/events`);
    await page.getByText('list events').first().waitFor();

    expect(await page.getByRole('table').count()).to.equal(0);
  });
});

/** Usage of pods and nodes in the console, from metrics.k8s.io. */

import { quantityOf } from '@atrium/objects/quantity.ts';
import { expect } from 'chai';
import type { Page, Request } from 'playwright-core';
import { eventually } from '../../support/cluster-admin.ts';
import { barriers } from './axe.ts';
import { loggedIn } from './demo.ts';

const isUsage = (request: Request) => request.url().includes('/apis/metrics.k8s.io/');
const column = (page: Page, name: string) => page.locator(`td.c-usage-${name}`);
const head = (page: Page, name: string) => page.getByRole('columnheader', { name, exact: true });

describe('usage in the console', () => {
  const { demo, page } = loggedIn('admin', '/');
  const open = (path: string) => page.goto(`${demo.url}${path}`);

  it('appears in the list of pods, sorted as quantities, with one request', async () => {
    const asked: string[] = [];
    const note = (request: Request) => isUsage(request) && asked.push(request.url());
    page.on('request', note);
    await open('/r/core/v1/pods/ns/shop');
    await head(page, 'Memory usage').getByRole('button').click();
    await head(page, 'Memory usage').getByRole('button').click();
    await head(page, 'Memory usage').and(page.locator('[aria-sort=descending]')).waitFor();
    const cells = await eventually(
      () => column(page, 'memory').allTextContents(),
      ({ length }) => length >= 5,
    );
    expect(page.url()).to.contain('sort=-usage.memory');
    page.off('request', note);

    const amounts = cells.map((text) => quantityOf(text) ?? -1);
    expect(amounts).to.deep.equal(amounts.toSorted((a, b) => b - a));
    expect(amounts[0]).to.be.greaterThan(1024 ** 2);
    expect(asked).to.have.length(1);
    expect(await barriers(page)).to.deep.equal([]);
  });

  it('appears on the page of a pod as bars against the limits of each container', async () => {
    await open('/r/core/v1/pods/ns/shop');
    await page
      .getByRole('link', { name: /^cart-/ })
      .first()
      .click();
    const container = page.getByRole('article', { name: 'cart', exact: true });
    await container.getByText(/of the limit 256Mi · \d+ %/).waitFor();
    await container.getByText(/m of the limit 500m · \d+ %/).waitFor();
    expect(await container.locator('.usage svg').count()).to.equal(2);
    expect(await barriers(page)).to.deep.equal([]);
  });

  it('appears on the page of a node as shares of the allocatable resources', async () => {
    await open('/r/core/v1/nodes');
    await eventually(
      () => column(page, 'cpu').allTextContents(),
      (texts) => texts.filter((text) => /^\d+m$/.test(text)).length === 3,
    );
    await open('/r/core/v1/nodes/node-1');
    const resources = page.getByRole('table', { name: 'Resources' });
    await resources.getByRole('columnheader', { name: 'Used' }).waitFor();
    await resources.locator('tr', { hasText: 'memory' }).locator('td').nth(4).getByText(/Mi|Gi/).waitFor();
  });

  it('is refreshed while the page is visible, and not while it is hidden', async () => {
    await page.clock.install();
    await open('/r/core/v1/pods/ns/shop');
    await column(page, 'cpu').first().getByText('m').waitFor();
    const next = page.waitForRequest(isUsage);
    await page.clock.fastForward(21_000);
    await next;

    let asked = 0;
    page.on('request', (request) => (asked += Number(isUsage(request))));
    const become = (state: string) =>
      page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true });
        document.dispatchEvent(new Event('visibilitychange'))`);
    await become('hidden');
    await page.clock.fastForward(120_000);
    expect(asked).to.equal(0);
    const again = page.waitForRequest(isUsage);
    await become('visible');
    await again;
  });
});

describe('a cluster without metrics in the console', () => {
  const { demo, page } = loggedIn('admin', '/');

  it('has lists and pages without usage', async () => {
    let asked = 0;
    page.on('request', (request) => (asked += Number(isUsage(request))));
    await page.route('**/api/kubernetes/apis', async (route) => {
      const response = await route.fetch();
      const { items, ...list } = (await response.json()) as { items: { metadata: { name: string } }[] };
      await route.fulfill({ response, json: { ...list, items: items.filter(({ metadata }) => metadata.name !== 'metrics.k8s.io') } });
    });
    await page.goto(`${demo.url}/r/core/v1/pods/ns/shop`);
    await page
      .getByRole('link', { name: /^cart-/ })
      .first()
      .waitFor();
    expect(await head(page, 'CPU usage').count()).to.equal(0);
    await page
      .getByRole('link', { name: /^cart-/ })
      .first()
      .click();
    await page.getByRole('article', { name: 'cart', exact: true }).waitFor();
    expect(await page.locator('.usage').count()).to.equal(0);
    expect(asked).to.equal(0);
  });
});

describe('usage in the console of a caller who may not list metrics', () => {
  const { demo, page } = loggedIn('admin', '/');

  it('is left out, and all other columns stay', async () => {
    await page.route('**/auth/v1/selfsubjectaccessreviews', async (route) => {
      const asked = route.request().postDataJSON() as { items?: { spec: { resourceAttributes: { group: string } } }[] };
      const response = await route.fetch();
      const answer = (await response.json()) as { items?: { status: { allowed: boolean } }[] };
      for (const [index, item] of (answer.items ?? []).entries())
        if (asked.items?.[index]?.spec.resourceAttributes.group === 'metrics.k8s.io') item.status.allowed = false;
      await route.fulfill({ response, json: answer });
    });
    await page.goto(`${demo.url}/r/core/v1/pods/ns/shop`);
    await page
      .getByRole('link', { name: /^cart-/ })
      .first()
      .waitFor();
    expect(await head(page, 'CPU usage').count()).to.equal(0);
    expect(await head(page, 'Status').count()).to.equal(1);
  });
});

/** CPU and memory over time in the console, from the last hour of metrics. */
import { expect } from 'chai';
import type { Locator, Page } from 'playwright-core';
import { eventually } from '../../support/cluster-admin.ts';
import { barriers } from './axe.ts';
import { loggedIn } from './demo.ts';

const section = (page: Page) => page.getByRole('region', { name: 'Usage over time' });
const charts = (page: Page) => section(page).locator('.usage-chart canvas');

interface Point {
  count: number | null;
  cpu: number | null;
}

interface Restarted {
  status?: { containerStatuses?: { lastState: object }[] };
}

describe('usage over time in the console', () => {
  const { demo, page } = loggedIn('admin', '/');
  /** Sections above it that load later push it out of view again, and a chart is drawn in view. */
  const scrollTo = (place: Locator, shown: Locator, count: number) =>
    eventually(
      async () => {
        await place.scrollIntoViewIfNeeded();
        return shown.count();
      },
      (found) => found === count,
    );
  const open = async (path: string) => {
    await page.goto(`${demo.url}${path}`);
    await scrollTo(section(page), charts(page), 2);
  };
  /** Counts the pixels of a chart that are not empty. */
  const drawn = () =>
    charts(page)
      .first()
      .evaluate((canvas) => {
        const { width, height } = canvas as unknown as { width: number; height: number };
        const context = (
          canvas as unknown as { getContext(kind: string): { getImageData(...box: number[]): { data: number[] } } }
        ).getContext('2d');
        return context.getImageData(0, 0, width, height).data.filter((value, index) => index % 4 === 3 && value > 0).length;
      });

  it('is drawn on the pages of a pod, a workload, a namespace and a node, with an hour from the start', async () => {
    await page.goto(`${demo.url}/r/core/v1/pods/ns/shop`);
    const pod = await page
      .getByRole('link', { name: /^cart-/ })
      .first()
      .getAttribute('href');
    for (const path of [pod ?? '', '/r/apps/v1/deployments/ns/shop/cart', '/r/core/v1/namespaces/shop', '/r/core/v1/nodes/node-1']) {
      await open(path);
      expect(await drawn(), path).to.be.greaterThan(500);
      await section(page)
        .getByText(/^Usage: [\d.]+m?$/)
        .first()
        .waitFor();
      expect(await barriers(page), path).to.deep.equal([]);
    }
    await section(page).getByText('Allocatable now: 4').waitFor();
    await section(page)
      .getByText(/^Requests now: /)
      .first()
      .waitFor();
  });

  it('is drawn on the overview with capacity, requests and limits, once its place is in view', async () => {
    let asked = 0;
    page.on('request', (request) => (asked += Number(/api\/v2\/usage|assets\/chart-/.test(request.url()))));
    await page.setViewportSize({ width: 1280, height: 400 });
    await page.goto(demo.url);
    await page.getByRole('link', { name: 'cluster-admin' }).or(page.getByText('cluster-admin')).first().waitFor();
    expect(asked).to.equal(0);
    await page.setViewportSize({ width: 1280, height: 720 });
    await scrollTo(page.getByRole('link', { name: /^Atrium / }), section(page), 1);
    await scrollTo(section(page), charts(page), 2);
    for (const text of [/^Usage: [\d.]+m?$/, /^Requests now: [\d.]+m?$/, /^Limits now: [\d.]+m?$/, 'Allocatable now: 12'])
      await section(page).getByText(text).first().waitFor();
    expect(await barriers(page)).to.deep.equal([]);
  });

  it('has the requests and limits of all pods of a namespace', async () => {
    await open('/r/core/v1/namespaces/shop');
    for (const text of [/^Requests now: [\d.]+m?$/, /^Limits now: [\d.]+m?$/]) await section(page).getByText(text).first().waitFor();
    expect(
      await section(page)
        .getByText(/^Allocatable/)
        .count(),
    ).to.equal(0);
  });

  it('has a table with the same figures for the keyboard and for screen readers', async () => {
    const answer = page.waitForResponse((response) => response.url().includes('/api/v2/usage/'));
    await open('/r/apps/v1/deployments/ns/shop/cart');
    const { points } = (await (await answer).json()) as { points: Point[] };
    const summary = section(page).getByText('Figures as a table');
    await summary.focus();
    await page.keyboard.press('Enter');
    const rows = section(page).getByRole('table', { name: 'Usage over time' }).locator('tbody tr');
    expect(await rows.count()).to.equal(points.length);
    const counts = await rows.locator('td:last-child').allTextContents();
    expect(counts).to.deep.equal(points.toReversed().map(({ count }) => String(count ?? 'not measured')));
  });

  /** Adds an event about a pod as the kubelet does. */
  const addEvent = async (pod: string, type: string, message: string, at = new Date()) => {
    const response = await fetch(`${demo.url}/api/kubernetes/api/v1/namespaces/shop/events`, {
      method: 'POST',
      headers: { authorization: `Bearer ${demo.person('admin').token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        ...{ apiVersion: 'v1', kind: 'Event', metadata: { generateName: 'usage-', namespace: 'shop' } },
        involvedObject: { apiVersion: 'v1', kind: 'Pod', name: pod, namespace: 'shop' },
        ...{ type, reason: 'BackOff', message, count: 3, firstTimestamp: at.toISOString(), lastTimestamp: at.toISOString() },
      }),
    });
    expect(response.status, await response.text()).to.equal(201);
  };

  it('has events of the object and its pods on the time line, and as a table by the keyboard', async () => {
    await page.goto(`${demo.url}/r/core/v1/pods/ns/shop`);
    const link = page.getByRole('link', { name: /^cart-/ }).first();
    const [name = '', path = ''] = [await link.textContent(), await link.getAttribute('href')].map((text) => text ?? '');
    await addEvent(name, 'Warning', 'Event of this pod');
    await addEvent('cart-db-7d9-abcde', 'Warning', 'Event of another workload');
    await addEvent(name, 'Normal', 'Event of yesterday', new Date(Date.now() - 24 * 3600 * 1000));
    for (const [at, others] of [
      [path, 0],
      ['/r/apps/v1/deployments/ns/shop/cart', 0],
      ['/r/core/v1/namespaces/shop', 1],
    ] as const) {
      await open(at);
      await section(page)
        .getByRole('listitem')
        .filter({ hasText: /^Warning$/ })
        .waitFor();
      await section(page)
        .getByText(/^Events and restarts as a table \(\d+\)$/)
        .focus();
      await page.keyboard.press('Enter');
      const table = section(page).getByRole('table', { name: 'Events and restarts' });
      const row = table.getByRole('row').filter({ hasText: 'BackOff (3): Event of this pod' });
      await row.waitFor();
      expect((await row.locator('td').allTextContents()).slice(1, 3), at).to.deep.equal(['Warning', `Pod ${name}`]);
      expect(await table.getByText('Event of another workload').count(), at).to.equal(others);
      expect(await table.getByText('Event of yesterday').count(), at).to.equal(0);
      expect(await barriers(page), at).to.deep.equal([]);
    }
  });

  it('has the restarts of containers on the pages of the pod and its workload', async () => {
    const ended = new Date(Date.now() - 600_000).toISOString();
    await page.route(/\/pods(\/cart-[^/?]*)?(\?.*)?$/, async (route) => {
      const response = await route.fetch();
      const body = (await response.json()) as { items?: Restarted[] } & Restarted;
      for (const { status } of [...(body.items ?? []), body])
        for (const container of status?.containerStatuses ?? [])
          container.lastState = { terminated: { finishedAt: ended, reason: 'OOMKilled', exitCode: 137 } };
      await route.fulfill({ response, json: body });
    });
    await open('/r/apps/v1/deployments/ns/shop/cart');
    await section(page)
      .getByRole('listitem')
      .filter({ hasText: /^Container ended$/ })
      .waitFor();
    await section(page)
      .getByText(/^Events and restarts as a table/)
      .click();
    await section(page).getByRole('table', { name: 'Events and restarts' }).getByText('cart: OOMKilled').first().waitFor();
    await page.unroute(/\/pods(\/cart-[^/?]*)?(\?.*)?$/);
  });

  it('is shown for a CronJob and its Jobs', async () => {
    await page.goto(`${demo.url}/r/batch/v1/cronjobs`);
    const path = await page.locator('td a[href*="/cronjobs/ns/"]').first().getAttribute('href');
    await open(path ?? '');
    expect(await barriers(page)).to.deep.equal([]);
  });

  it('names a minute that was not measured, and one in which no pod ran', async () => {
    await page.route('**/api/v2/usage/**', async (route) => {
      const response = await route.fetch();
      const body = (await response.json()) as { points: Point[]; since?: string };
      const points = body.points
        .slice(-10)
        .map((point, index) => (index < 2 ? { ...point, count: index === 0 ? null : 0, cpu: null, memory: null } : point));
      await route.fulfill({ response, json: { ...body, points, since: (body.points.at(-10) as unknown as { time: string }).time } });
    });
    await open('/r/apps/v1/deployments/ns/shop/cart');
    await section(page).getByText('Figures as a table').click();
    const rows = section(page).getByRole('table', { name: 'Usage over time' }).locator('tbody tr');
    expect((await rows.locator('td').allTextContents()).slice(-7)).to.deep.include.members(['none ran', '0', 'not measured']);
    await page.unroute('**/api/v2/usage/**');
  });

  it('says in a sentence that the cluster has no metrics-server, or that the installation keeps none', async () => {
    const reasons = { NotInstalled: /the cluster has no metrics-server/, NotKept: /This installation keeps no usage/ };
    for (const [reason, text] of Object.entries(reasons)) {
      await page.route('**/api/v2/usage/**', async (route) => {
        const response = await route.fetch();
        const body = (await response.json()) as object;
        await route.fulfill({ response, json: { ...body, points: [], unavailable: { reason, message: '' } } });
      });
      await page.goto(`${demo.url}/r/core/v1/namespaces/shop`);
      await section(page).getByText(text).waitFor();
      expect(await charts(page).count()).to.equal(0);
      await page.unroute('**/api/v2/usage/**');
    }
  });
});

describe('usage over time for a caller who may not read these metrics', () => {
  const { demo, page } = loggedIn('viewer', '/');

  it('is left out, and a sentence names the right', async () => {
    let asked = 0;
    page.on('request', (request) => (asked += Number(request.url().includes('/api/v2/usage/'))));
    await page.route('**/auth/v1/selfsubjectaccessreviews', async (route) => {
      const { items = [] } = route.request().postDataJSON() as { items?: { spec: { resourceAttributes: { group: string } } }[] };
      const response = await route.fetch();
      const answer = (await response.json()) as { items?: { status: { allowed: boolean } }[] };
      for (const [index, item] of (answer.items ?? []).entries())
        if (items[index]?.spec.resourceAttributes.group === 'metrics.k8s.io') item.status.allowed = false;
      await route.fulfill({ response, json: answer });
    });
    await page.goto(`${demo.url}/r/apps/v1/deployments/ns/shop/cart`);
    await section(page)
      .getByText(/^No chart: you may not list/)
      .waitFor();
    expect(await charts(page).count()).to.equal(0);
    expect(asked).to.equal(0);
  });
});

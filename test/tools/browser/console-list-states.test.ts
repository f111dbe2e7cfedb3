/** Lists of the console say the state of their objects, in columns of the service and in those of kubectl. */
import { expect } from 'chai';
import type { Locator } from 'playwright-core';
import { barriers } from './axe.ts';
import { loggedIn } from './demo.ts';
import { create, merge } from './kind-pages.ts';

describe('states in the lists of the console', () => {
  const { demo, page } = loggedIn('admin', '/');
  const open = (path: string) => page.goto(`${demo.url}${path}`);
  const row = (name: string) => page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
  const toneOf = async (found: Locator) => (await found.locator('.phase').first().getAttribute('class'))?.replace('phase ', '');
  const alignOf = async (title: string) => {
    const heads = await page.getByRole('columnheader').allTextContents();
    return page.evaluate<string>(`getComputedStyle(document.querySelectorAll('thead th')[${heads.indexOf(title)}]).textAlign`);
  };

  it('tell a stuck Deployment from an available one, and align figures', async () => {
    await open('/r/apps/v1/deployments');
    await row('alerts').getByText('ProgressDeadlineExceeded').waitFor();
    await row('ledger').getByText('Available', { exact: true }).waitFor();

    expect(await toneOf(row('alerts'))).to.equal('bad');
    expect(await toneOf(row('ledger'))).to.equal('ok');
    expect(await alignOf('Replicas')).to.equal('end');
    expect(await alignOf('Age')).to.equal('end');
    expect(await alignOf('Name')).to.equal('start');
    expect(await barriers(page)).to.deep.equal([]);
  });

  it('name a cordoned node, without a tick', async () => {
    await open('/r/core/v1/nodes');
    await row('node-3').getByText('Ready, cordoned').waitFor();

    expect(await toneOf(row('node-3'))).to.equal('warn');
    expect(await toneOf(row('node-2'))).to.equal('ok');
  });

  it('tell a Service without endpoints from one with them', async () => {
    const spec = { selector: { app: 'none' }, ports: [{ port: 80 }] };
    await create(demo, 'api/v1/namespaces/shop/services', { apiVersion: 'v1', kind: 'Service', metadata: { name: 'lonely' }, spec });
    await open('/r/core/v1/services/ns/shop');
    await row('lonely').getByText('NoEndpoints').waitFor();
    await row('storefront').getByText('Ready').waitFor();

    expect(await toneOf(row('lonely'))).to.equal('bad');
  });

  it('read the state of a kind that only the API server lists, and follow it', async () => {
    const path = 'apis/policy/v1/namespaces/shop/poddisruptionbudgets';
    await open('/r/policy/v1/poddisruptionbudgets/ns/shop');
    await row('storefront').getByText('SufficientPods').waitFor();
    expect(await toneOf(row('storefront'))).to.equal('ok');
    await merge(demo, `${path}/storefront`, { spec: { minAvailable: 3 } });
    await row('storefront').getByText('InsufficientPods').waitFor();

    expect(await toneOf(row('storefront'))).to.equal('warn');
    expect(await alignOf('Allowed Disruptions')).to.equal('end');
    await open('/r/apps/v1/replicasets/ns/shop');
    await page.getByText('ScaledToZero').first().waitFor();
  });

  it('begin a list of events with the latest', async () => {
    await open('/r/core/v1/events/ns/shop');
    await page.getByRole('columnheader', { name: 'Last Seen', exact: true }).waitFor();

    expect(await page.getByRole('columnheader', { name: 'Last Seen', exact: true }).getAttribute('aria-sort')).to.equal('descending');
  });
});

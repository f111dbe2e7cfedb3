/** The state of one object has the same word and tone in its list, on its page and in the chain (decision 548). */
import { expect } from 'chai';
import type { Locator } from 'playwright-core';
import { loggedIn } from './demo.ts';
import { create, merge } from './kind-pages.ts';

const shop = 'namespaces/shop';
const container = { name: 'web', image: 'registry.example.com/storefront:1.4.2' };

describe('the state of an object in the console', () => {
  const { demo, page } = loggedIn('admin', '/');
  const open = (path: string) => page.goto(`${demo.url}${path}`);
  const row = (name: string) => page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
  const head = () => page.locator('.page-head');

  /** Returns the word and the tone of the first state in a place. */
  async function stateIn(place: Locator): Promise<string> {
    const state = place.locator('.phase').first();
    await state.waitFor();
    return `${(await state.getAttribute('class'))?.replace('phase ', '')} ${await state.textContent()}`;
  }

  it('is the same of a pod that failed, in its list, on its page and on the page of its node', async () => {
    const ended = { metadata: { name: 'ended', namespace: 'shop' }, status: { phase: 'Failed', reason: 'Terminated' } };
    const spec = { containers: [container], nodeSelector: { 'example.com/none': 'true' } };
    await create(demo, `api/v1/${shop}/pods`, { apiVersion: 'v1', kind: 'Pod', metadata: ended.metadata, spec });
    await merge(demo, `api/v1/${shop}/pods/ended/status`, { status: { ...ended.status, conditions: null } });

    await open('/r/core/v1/pods/ns/shop/ended');
    expect(await stateIn(head())).to.equal('bad Terminated');
    await open('/r/core/v1/pods/ns/shop?q=ended');
    expect(await stateIn(row('ended'))).to.equal('bad Terminated');
    await page.route(/\/pods\?fieldSelector=spec\.nodeName/, (route) =>
      route.fulfill({ json: { metadata: { resourceVersion: '1' }, items: [{ ...ended, spec }] } }),
    );
    await open('/r/core/v1/nodes/node-2');
    expect(await stateIn(row('ended'))).to.equal('bad Terminated');
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  it('has no tick in the list of nodes while a node is under pressure', async () => {
    const conditions = [
      { type: 'Ready', status: 'True' },
      { type: 'MemoryPressure', status: 'True', message: 'kubelet has insufficient memory available' },
    ];
    await merge(demo, 'api/v1/nodes/node-2/status', { status: { conditions } });
    await open('/r/core/v1/nodes');
    await row('node-2').getByText('MemoryPressure').waitFor();
    expect(await stateIn(row('node-2'))).to.equal('bad Ready');
    await open('/r/core/v1/nodes/node-2');
    expect(await stateIn(head())).to.equal('bad Ready,MemoryPressure');
  });

  it('is that of all endpoints of a Service in the chain of each workload behind it', async () => {
    const labels = { app: 'storefront', track: 'canary' };
    const template = { metadata: { labels }, spec: { containers: [{ ...container, image: 'registry.example.com/storefront:missing' }] } };
    const spec = { replicas: 1, selector: { matchLabels: labels }, template };
    await create(demo, `apis/apps/v1/${shop}/deployments`, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'canary' },
      spec,
    });
    await open('/r/core/v1/services/ns/shop');
    expect(await stateIn(row('storefront'))).to.equal('ok Ready');
    await open('/r/apps/v1/deployments/ns/shop/canary');
    expect(await stateIn(page.locator('.chain .node').filter({ hasText: /^Service/ }))).to.match(/^ok /);
  });

  it('names a Service without endpoints on its page and in its chain, as in the list', async () => {
    const spec = { selector: { app: 'none' }, ports: [{ port: 80 }] };
    await create(demo, `api/v1/${shop}/services`, { apiVersion: 'v1', kind: 'Service', metadata: { name: 'lonely' }, spec });
    await open('/r/core/v1/services/ns/shop');
    expect(await stateIn(row('lonely'))).to.equal('bad NoEndpoints');
    await open('/r/core/v1/services/ns/shop/lonely');
    expect(await stateIn(page.locator('.chain .node'))).to.equal('bad NoEndpoints');
    expect(await stateIn(page.locator('.notice'))).to.equal('bad NoEndpoints');
  });

  it('is not called the progress of a rollout where pods were lost since', async () => {
    await page.route(/\/deployments\/storefront$/, async (route) => {
      const response = await route.fetch();
      const object = (await response.json()) as { status: object };
      await route.fulfill({ response, json: { ...object, status: { ...object.status, readyReplicas: 2, availableReplicas: 2 } } });
    });
    await open('/r/apps/v1/deployments/ns/shop/storefront');
    expect(await stateIn(head())).to.equal('warn Degraded');
    expect(await page.locator('.notice.warn').first().textContent()).to.contain(
      'The rollout is complete, but 2 of 3 replicas are available.',
    );
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  it('counts pods of a namespace that run and are not ready for themselves', async () => {
    await page.route(/\/namespaces\/shop\/pods\?.*includeObject=None/, (route) =>
      route.fulfill({
        json: {
          ...{ apiVersion: 'meta.k8s.io/v1', kind: 'Table', metadata: { resourceVersion: '1' } },
          columnDefinitions: ['Name', 'Ready', 'Status'].map((name) => ({ name, type: 'string' })),
          rows: ['1/1', '1/1', '0/1'].map((ready, index) => ({ cells: [`pod-${index}`, ready, 'Running'] })),
        },
      }),
    );
    await open('/r/core/v1/namespaces/shop');
    const counts = page.locator('ul.counts li').filter({ has: page.locator('.phase') });
    await counts.nth(1).waitFor();
    expect(await counts.allTextContents()).to.deep.equal(['2 Running', '1 Running']);
    expect(await stateIn(counts.nth(1))).to.equal('warn Running');
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });
});

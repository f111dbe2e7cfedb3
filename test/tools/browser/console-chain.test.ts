/** The connections of an object in the console: a picture, and the same tree of links. */
import { expect } from 'chai';
import { barriers } from './axe.ts';
import { loggedIn } from './demo.ts';
import { merge } from './kind-pages.ts';

const pictured = '.chain .node';

describe('the connections of an object in the console', () => {
  const { demo, page } = loggedIn('admin', '/');
  const open = (path: string) => page.goto(`${demo.url}${path}`);
  const tree = () => page.getByRole('navigation', { name: 'Connections' });
  const shown = async () => Promise.all((await page.locator(pictured).all()).map((one) => one.getAttribute('title')));

  it('lead from the Ingress to the pods, in the picture and in the tree', async () => {
    for (const path of ['/r/apps/v1/deployments/ns/shop/storefront', '/r/core/v1/services/ns/shop/storefront']) {
      await open(path);
      await page.locator(pictured).filter({ hasText: 'Secret' }).waitFor();
      const titles = await shown();
      expect(titles).to.include.members(['Ingress storefront', 'Service storefront', 'Deployment storefront', 'ConfigMap storefront']);
      expect(titles.filter((title) => title?.startsWith('Pod storefront-'))).to.have.lengthOf(3);
    }
    await tree()
      .getByRole('listitem')
      .filter({ hasText: /^Ingress storefront/ })
      .first()
      .waitFor();
    expect(await barriers(page)).to.deep.equal([]);
  });

  it('mark the node of a link that has the focus, and follow it by the keyboard', async () => {
    await open('/r/networking.k8s.io/v1/ingresses/ns/shop/storefront');
    await tree().getByRole('link', { name: 'Deployment storefront' }).focus();
    await page.locator('.chain .node.focused').filter({ hasText: 'Deployment' }).waitFor();
    await page.keyboard.press('Enter');

    await page.waitForURL('**/deployments/ns/shop/storefront');
  });

  it('name the pod that is not well, by word and shape', async () => {
    await open('/r/apps/v1/deployments/ns/payments/checkout');
    const pod = page.locator('.chain .node.bad').filter({ hasText: /^Pod/ });
    await pod.locator('.phase.bad svg').waitFor();
    expect(await pod.textContent()).to.match(/ImagePull/);
  });

  it('group many pods', async () => {
    await merge(demo, 'apis/apps/v1/namespaces/shop/deployments/storefront', { spec: { replicas: 9 } });
    await open('/r/apps/v1/deployments/ns/shop/storefront');
    await page
      .locator('.chain')
      .getByText(/^9 pods/)
      .first()
      .waitFor();
    await merge(demo, 'apis/apps/v1/namespaces/shop/deployments/storefront', { spec: { replicas: 3 } });
  });

  it('stand on the pages of a ConfigMap and a Secret as their users', async () => {
    for (const [path, place] of [
      ['configmaps/ns/shop/storefront', 'volume settings'],
      ['secrets/ns/shop/storefront-tls', 'volume certificate'],
    ] as const) {
      await open(`/r/core/v1/${path}`);
      const users = page.getByRole('table', { name: 'Used by' });
      await users
        .getByRole('row', { name: /^Deployment storefront Available/ })
        .getByText(place)
        .waitFor();
    }
    await page.getByRole('row', { name: /^Ingress storefront Pending tls/ }).waitFor();
    expect(await barriers(page)).to.deep.equal([]);
  });

  it('fit a phone as a tree', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await open('/r/core/v1/services/ns/shop/cart');
    await tree().getByRole('link', { name: 'Deployment cart' }).waitFor();

    expect(await page.locator(pictured).count()).to.equal(0);
    expect(await page.evaluate('document.documentElement.scrollWidth')).to.be.at.most(390);
    expect(await barriers(page)).to.deep.equal([]);
  });
});

describe('the connections of an object in the console of a caller with few rights', () => {
  const { demo, page } = loggedIn('admin', '/');

  it('name the kinds that the caller may not list', async () => {
    await page.route('**/auth/v1/selfsubjectaccessreviews', async (route) => {
      const response = await route.fetch();
      const asked = route.request().postDataJSON() as { items: { spec: { resourceAttributes: { resource: string } } }[] };
      const answer = (await response.json()) as { items: { status: { allowed: boolean } }[] };
      for (const [index, { spec }] of asked.items.entries()) {
        const item = answer.items[index];
        if (spec.resourceAttributes.resource === 'services' && item) item.status.allowed = false;
      }
      await route.fulfill({ response, json: answer });
    });
    await page.goto(`${demo.url}/r/apps/v1/deployments/ns/shop/storefront`);
    await page.getByText('You may not list Services here: they are not shown.').waitFor();

    expect(
      await page
        .locator(pictured)
        .filter({ hasText: /^Service/ })
        .count(),
    ).to.equal(0);
  });
});

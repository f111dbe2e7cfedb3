/** Workloads of the demo in the console: failures are visible without a click, and a rollback is followed to its end. */
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { barriers } from './axe.ts';
import { tableOf } from './cluster-answers.ts';
import { loggedIn, press } from './demo.ts';

describe('the page of a workload in the console', () => {
  const { demo, page } = loggedIn('admin', '/');
  const open = (path: string) => page.goto(`${demo.url}${path}`);
  const pods = () => page.getByRole('table', { name: 'Pods' });

  it('shows the failure of a pod on its page, and its containers', async () => {
    await open('/r/apps/v1/deployments/ns/shop/cart');
    await pods().getByText('CrashLoopBackOff').first().waitFor();
    // Between two restarts, a container runs for a moment.
    const reason = page.getByRole('alert').filter({ hasText: 'recommendations: CrashLoopBackOff' });
    expect(await reason.innerText()).to.match(
      /^cart-\S+ (?:and another pod: )?recommendations: .*The container used more memory than its limit\./s,
    );
    await pods()
      .getByRole('row', { name: /^cart-.* \d+m [\d.]+Mi$/ })
      .nth(1)
      .waitFor();
    await pods()
      .getByRole('link', { name: /^cart-/ })
      .first()
      .click();

    await page.getByText('recommendations: CrashLoopBackOff').waitFor();
    await page.getByText('The container used more memory than its limit.').waitFor();
    const container = page.getByRole('article', { name: 'cart', exact: true });
    await container.getByText('registry.example.com/cart:2.3.1').waitFor();
    await container.getByText('Running').waitFor();
    await page.getByRole('link', { name: 'Log of recommendations' }).click();
    await page
      .getByText(/recommendations: model loaded, \d+ MiB in use/)
      .first()
      .waitFor();
  });

  it('marks a failing init container as a failure, and links the node of a pod', async () => {
    await page.goto(`${demo.url}/r/core/v1/pods/ns/monitoring`);
    const row = page.getByRole('row', { name: /alerts-/ });
    // Between two restarts, the container runs for a moment.
    await row.locator('.phase.bad', { hasText: 'Init:' }).waitFor();
    await row.getByRole('link', { name: /^node-\d$/ }).click();
    await page.getByRole('heading', { level: 1, name: /^node-\d$/ }).waitFor();
  });

  it('shows a stuck rollout, rolls it back, and reports the completion', async () => {
    await open('/r/apps/v1/deployments/ns/payments/checkout');
    await page.getByText('The rollout is stuck').waitFor();
    await pods().getByText('ImagePullBackOff').waitFor();
    await press(page, 'Roll back');
    await page.locator('.cm-changedLine', { hasText: 'checkout:4.1.0' }).waitFor();
    await press(page, 'Roll checkout back to revision 1');
    await page.getByText('All 2 replicas are updated and available.').waitFor();
    await page.getByRole('cell', { name: '3 (current)' }).waitFor();
    await pods().getByText('ImagePullBackOff').waitFor({ state: 'detached' });
  });

  it('reads the reason of a broken pod once, and again after each change of the pod', async () => {
    await open('/r/apps/v1/deployments/ns/shop/storefront');
    const { items } = (await page.evaluate(
      `fetch('/api/kubernetes/apis/apps/v1/namespaces/shop/replicasets').then((answer) => answer.json())`,
    )) as { items: { metadata: { name: string; uid: string } }[] };
    const set = items.find(({ metadata: { name } }) => name.startsWith('storefront-'))?.metadata;
    const metadata = (resourceVersion: string) => ({
      name: 'broken',
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: set?.name, uid: set?.uid, controller: true }],
      namespace: 'shop',
      uid: 'u-broken',
      resourceVersion,
      creationTimestamp: '',
    });
    const table = (version: string) =>
      tableOf(
        ['Name', 'Status', 'Restarts'],
        [{ cells: ['broken', 'CreateContainerError', `restarts ${version}`], metadata: metadata(version) }],
      );
    const [changed, first] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const reads: string[] = [];
    let version = '1';
    const pod = (message: string) => ({
      ...{ metadata: metadata('1'), spec: { containers: [{ name: 'a' }] } },
      status: { containerStatuses: [{ name: 'a', state: { waiting: { reason: 'CreateContainerError', message } } }] },
    });
    // The reads of the page before are not counted.
    await page.goto('about:blank');
    await page.route(/\/api\/v1\/namespaces\/shop\/pods\?/, async (route) => {
      const query = new URL(route.request().url()).searchParams;
      if (query.has('fieldSelector')) {
        const message = `message ${version}`;
        reads.push(message);
        if (reads.length === 1) await first.promise;
        await route.fulfill({ json: { items: [pod(message)] } }).catch(() => undefined);
      } else if (query.has('watch')) {
        await changed.promise;
        await route.fulfill({ body: `{"type":"MODIFIED","object":${table('2')}}\n` }).catch(() => undefined);
      } else await route.fulfill({ body: table(version) });
    });
    const broken = () => page.getByRole('row', { name: /^broken / });
    await open('/r/apps/v1/deployments/ns/shop/storefront');
    await broken().getByText('restarts 1').waitFor();
    await eventually(
      () => reads.length,
      (count) => count === 1,
    );
    version = '2';
    changed.resolve();
    await broken().getByText('restarts 2').waitFor();
    first.resolve();
    await page.getByText('message 2').waitFor();

    // The page shows the remembered answer until the next one arrives.
    version = '3';
    reads.splice(0);
    await page.getByRole('link', { name: 'YAML' }).click();
    await broken().waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Summary' }).click();
    await page.getByText('message 3').waitFor();
    expect(reads).to.deep.equal(['message 3']);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  it('scales by a button, and shows new pods without a reload', async () => {
    await open('/r/apps/v1/deployments/ns/shop/storefront');
    await page.getByText('All 3 replicas are updated and available.').waitFor();
    await press(page, 'Scale');
    await page.getByLabel('Replicas').fill('4');
    await press(page, 'Scale to 4');
    await page.getByText('All 4 replicas are updated and available.').waitFor();
    await pods().locator('tbody tr').nth(3).waitFor();
  });

  it('has no violation and no element wider than its parent, from a phone on', async () => {
    for (const path of ['deployments/ns/payments/checkout', 'replicasets']) {
      await open(`/r/apps/v1/${path}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      for (const width of [390, 768, 1280]) {
        await page.setViewportSize({ width, height: 900 });
        expect(await page.evaluate('document.documentElement.scrollWidth'), `${path} at ${width}`).to.be.at.most(width);
      }
      expect(await barriers(page)).to.deep.equal([]);
    }
  });
});

describe('the page of a workload in the console of a caller without rights', () => {
  const { demo, visitor, page } = loggedIn('nobody', '/');
  // The page requests its object before the rights are known.
  before(() => {
    visitor.accepted = /status of 403/;
  });

  it('reports that pods may not be listed, with the reason', async () => {
    await page.goto(`${demo.url}/r/apps/v1/deployments/ns/shop/storefront`);
    await page.getByText('get deployments.apps').first().waitFor();
    expect(await page.getByRole('table').count()).to.equal(0);
  });
});

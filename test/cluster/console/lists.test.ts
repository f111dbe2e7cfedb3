/** Lists of the cluster on the console, in front of a real API server. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { chooseNamespace, press } from '../../tools/browser/demo.ts';
import { startClusterConsole } from './support.ts';

describe('a list of the cluster on the console', () => {
  const suite = forSuite(startClusterConsole);
  const pods = '/api/v1/namespaces/shop/pods';
  /** Makes a ReplicaSet of the Deployment the controller of a pod, as kube-controller-manager does. */
  const ownByDeployment = async (pod: string, name: string) => {
    const { admin } = suite.login;
    const apps = '/apis/apps/v1/namespaces/shop';
    const owner = async (path: string, kind: string) => {
      const { metadata } = (await admin.call('GET', path)).body as { metadata: { name: string; uid: string } };
      return [{ apiVersion: 'apps/v1', kind, name: metadata.name, uid: metadata.uid, controller: true }];
    };
    const ownerReferences = await owner(`${apps}/deployments/${name}`, 'Deployment');
    const labels = { app: name };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'none' }] } };
    const spec = { replicas: 0, selector: { matchLabels: labels }, template };
    await admin.apply({
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: { name: `${name}-1`, namespace: 'shop', labels, ownerReferences },
      spec,
    });
    const body = { metadata: { ownerReferences: await owner(`${apps}/replicasets/${name}-1`, 'ReplicaSet') } };
    const { status } = await admin.call('PATCH', `${pods}/${pod}`, body, { 'content-type': 'application/merge-patch+json' });
    expect(status).to.equal(200);
  };
  const names = (page: Page) => page.locator('td.c-name a').allTextContents();

  it('leads from the menu to the pods of all namespaces, in the columns of kubectl', async () => {
    const page = await suite.open('admin', '/');
    await page.getByRole('link', { name: 'Pods', exact: true }).click();
    await page.getByRole('link', { name: 'web-2' }).waitFor();

    expect(await names(page)).to.deep.equal(['report-27', 'shell', 'web-0', 'web-1', 'web-2']);
    expect(await page.locator('thead th:not(.check)').allTextContents()).to.deep.equal([
      ...['Name', 'Namespace', 'Ready', 'Status', 'Restarts', 'Age'],
    ]);
    await press(page, 'Columns');
    await page.getByRole('menuitemradio', { name: 'All columns' }).click();
    await page.getByRole('columnheader', { name: 'Node', exact: true }).waitFor();
  });

  it('keeps filter, order and namespace in the address', async () => {
    const page = await suite.open('admin', '/r/core/v1/pods');
    await page.getByRole('searchbox').fill('app=web');
    await page.getByRole('button', { name: 'Restarts' }).click();
    await page.getByRole('button', { name: 'Restarts' }).click();
    await chooseNamespace(page, 'shop');
    // The rows of all namespaces stay until the rows of the selected one have arrived.
    const isFirst = ([first]: string[]) => first === 'web-1';
    await page.waitForURL(`${suite.url}/r/core/v1/pods/ns/shop?q=app%3Dweb&sort=-Restarts`);
    await eventually(() => names(page), isFirst);
    await page.reload();
    await eventually(() => names(page), isFirst);
  });

  it('updates values in place, and holds back new rows', async () => {
    const page = await suite.open('admin', '/r/core/v1/pods/ns/shop');
    await page.getByRole('link', { name: 'web-2' }).waitFor();
    const { admin } = suite.login;
    const status = { phase: 'Succeeded' };
    await admin.call('PATCH', `${pods}/report-27/status`, { status }, { 'content-type': 'application/merge-patch+json' });
    await page
      .getByRole('row', { name: /report-27/ })
      .getByText('Succeeded')
      .waitFor();
    const spec = { containers: [{ name: 'main', image: 'none' }] };
    await admin.apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web-3', namespace: 'shop' }, spec });
    await page.getByText('One change.').waitFor();

    expect(await names(page)).not.to.include('web-3');
    await press(page, 'Show');
    await page.getByRole('link', { name: 'web-3' }).waitFor();
  });

  it('deletes selected objects', async () => {
    const page = await suite.open('admin', '/r/core/v1/configmaps/ns/shop');
    await page.getByLabel('Select settings').check();
    await press(page, 'Delete');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete one ConfigMap' }).click();
    await page.getByRole('link', { name: 'settings' }).waitFor({ state: 'detached' });

    const { status } = await suite.login.admin.call('GET', '/api/v1/namespaces/shop/configmaps/settings');
    expect(status).to.equal(404);
  });

  it('reports that filter and order apply to the loaded part of a longer list, and loads more', async () => {
    const { admin } = suite.login;
    const maps = Array.from({ length: 501 }, (_, index) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: `many-${index}`, namespace: 'default' },
    }));
    await admin.apply(...maps);
    const page = await suite.open('admin', '/r/core/v1/configmaps/ns/default');
    await page.getByText('Filter and sort work on the first 500.').waitFor();
    await press(page, 'Load more');
    await page.getByText('501 objects').waitFor();
  });

  it('shows the pods that a workload controls on its page, and in the list by its selector', async () => {
    await ownByDeployment('web-0', 'web');
    const page = await suite.open('admin', '/r/apps/v1/deployments/ns/shop/web');
    await page.getByRole('table', { name: 'Pods' }).getByRole('link', { name: 'web-0', exact: true }).waitFor();
    await page.goto(`${suite.url}/r/core/v1/pods/ns/shop?selector=app%3Dweb`);
    await page.getByRole('link', { name: 'web-0' }).waitFor();

    const { admin } = suite.login;
    const spec = { containers: [{ name: 'main', image: 'none' }] };
    await admin.apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'other', namespace: 'shop', labels: { app: 'cart' } }, spec });
    await page.reload();
    await page.getByRole('link', { name: 'web-0' }).waitFor();
    expect(await names(page)).not.to.include('other');
    await press(page, 'Show all');
    await page.getByRole('link', { name: 'other' }).waitFor();
  });

  it('leads users without cluster-wide rights to their namespaces', async () => {
    const page = await suite.open('viewer', '/r/core/v1/pods');
    await page.getByText('You may not list Pods in the whole cluster.').waitFor();
    await page.getByRole('main').getByRole('link', { name: 'shop' }).click();
    await page.getByRole('link', { name: 'web-0' }).waitFor();

    expect(await page.getByLabel('Select web-0').count()).to.equal(0);
  });

  it('names the user without list permission, and the missing right', async () => {
    const page = await suite.open('guest', '/r/core/v1/pods');
    await page.getByText('You may not see this.').waitFor();

    expect(await page.getByRole('main').textContent()).to.contain('list pods');
  });
});

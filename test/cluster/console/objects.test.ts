/** An object of the cluster on the console: shown, edited, scaled and deleted, in front of a real API server. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { press } from '../../tools/browser/demo.ts';
import { answersAbout } from '../../tools/browser/kind-pages.ts';
import { startClusterConsole } from './support.ts';

interface Read {
  status: number;
  body: {
    metadata?: { labels?: Record<string, string> };
    spec?: { replicas?: number; template?: { metadata: { annotations?: Record<string, string> } } };
    data?: Record<string, string>;
  };
}

describe('an object of the cluster on the console', () => {
  const suite = forSuite(startClusterConsole);
  const web = '/apis/apps/v1/namespaces/shop/deployments/web';
  const settings = '/api/v1/namespaces/shop/configmaps/settings';
  const read = async (path: string) => (await suite.login.admin.call('GET', path)) as Read;
  const dialog = (page: Page) => page.getByRole('dialog');
  const choose = async (page: Page, name: string) => {
    await press(page, 'More actions');
    await page.getByRole('menuitem', { name }).press('Enter');
  };
  /** Replaces the text in the editor. */
  const type = async (page: Page, text: string) => {
    await page.locator('.cm-content').focus();
    await page.keyboard.press('Control+a');
    await page.keyboard.insertText(text);
  };
  const yaml = (theme: string, more = '') =>
    `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n  namespace: shop\n${more}data:\n  currency: EUR\n  theme: ${theme}\n`;

  it('shows labels, state, conditions and events', async () => {
    const page = await suite.open('admin', '/r/apps/v1/deployments/ns/shop/web');
    await page.getByText('MinimumReplicasAvailable').waitFor();
    await page.getByText('tier: front').waitFor();
    await page.goto(`${suite.url}/r/core/v1/pods/ns/shop/web-2/events`);
    await page.getByText('0/1 nodes are available').waitFor();
  });

  it('reads an object once, and shows what its watch reports', async () => {
    const merging = { 'content-type': 'application/merge-patch+json' };
    const page = await suite.open('admin', '/r/core/v1/configmaps/ns/shop');
    const seen = answersAbout(page, 'api/v1/namespaces/shop/configmaps/settings');
    await page.getByRole('link', { name: 'settings' }).click();
    await page.getByText('calm', { exact: true }).waitFor();
    for (const theme of ['loud', 'calm']) {
      await suite.login.admin.call('PATCH', settings, { data: { theme } }, merging);
      await page.getByText(theme, { exact: true }).waitFor();
    }
    seen.end();

    expect(seen.reads).to.deep.equal([200]);
    expect(seen.watches).to.deep.equal([[200, null]]);
  });

  it('shows YAML without managed fields by default, and a Secret without its values', async () => {
    const page = await suite.open('admin', '/r/core/v1/secrets/ns/shop/payment/yaml');
    await page.getByText('kind: Secret').waitFor();
    const text = () => page.locator('.cm-content').textContent();

    expect(await text())
      .not.to.contain('managedFields')
      .and.not.to.contain(btoa('very-secret-value'));
    await press(page, 'Show the values');
    await page.getByText(btoa('very-secret-value')).waitFor();
    await page.getByLabel('With managedFields').check();
    await page.locator('.cm-content', { hasText: 'managedFields' }).waitFor();
  });

  it('previews a change by a dry run, and then applies it', async () => {
    const page = await suite.open('admin', '/r/core/v1/configmaps/ns/shop/settings/yaml');
    await press(page, 'Edit');
    await type(page, yaml('loud'));
    await press(page, 'Review the changes');
    await page.getByText('see the changes below').waitFor();
    // The comparison is loaded when it is shown first.
    await page.locator('.cm-deletedChunk').first().waitFor();

    expect((await page.locator('.cm-deletedChunk').allTextContents()).join())
      .to.contain('calm')
      .and.to.contain('app: web');
    expect((await read(settings)).body.data?.theme).to.equal('calm');
    await press(page, 'Save this ConfigMap');
    await page.getByText('ConfigMap settings is saved.').waitFor();
    expect((await read(settings)).body.data?.theme).to.equal('loud');
  });

  it('refuses an unknown field before the write', async () => {
    const page = await suite.open('admin', '/r/core/v1/configmaps/ns/shop/settings/yaml');
    await press(page, 'Edit');
    await type(page, yaml('bright', 'dta: {}\n'));
    suite.allow(/status of 400/);
    await press(page, 'Review the changes');
    await page.getByRole('alert').getByText('unknown field "dta"').waitFor();
    page.once('dialog', (question) => void question.accept());
    await press(page, 'Cancel');
  });

  it('shows the conflicting change of another user, and keeps the typed text', async () => {
    const page = await suite.open('admin', '/r/core/v1/configmaps/ns/shop/settings/yaml');
    await press(page, 'Edit');
    await type(page, yaml('dim'));
    const patch = { 'content-type': 'application/merge-patch+json' };
    await suite.login.admin.call('PATCH', settings, { data: { theme: 'pink' } }, patch);
    suite.allow(/status of 409/);
    await press(page, 'Review the changes');
    await page.getByText('The object has changed meanwhile.').waitFor();
    await page.locator('.cm-changedLine', { hasText: 'pink' }).waitFor();
    await press(page, 'Review the changes');
    await page.getByText('see the changes below').waitFor();
    await press(page, 'Save this ConfigMap');
    await page.getByText('ConfigMap settings is saved.').waitFor();

    expect((await read(settings)).body.data?.theme).to.equal('dim');
  });

  it('creates an object from YAML', async () => {
    const page = await suite.open('admin', '/r/core/v1/configmaps/ns/shop');
    await page.getByRole('link', { name: 'New ConfigMap' }).click();
    await page.locator('.cm-content', { hasText: 'namespace: shop' }).waitFor();
    await type(page, yaml('new').replace('name: settings', 'name: made'));
    await press(page, 'Review the changes');
    await press(page, 'Create this ConfigMap');
    await page.getByRole('heading', { name: 'made' }).waitFor();

    expect((await read('/api/v1/namespaces/shop/configmaps/made')).body.data?.theme).to.equal('new');
  });

  it('scales and restarts', async () => {
    const page = await suite.open('admin', '/r/apps/v1/deployments/ns/shop/web');
    await press(page, 'Scale');
    await dialog(page).getByLabel('Replicas').fill('5');
    await dialog(page).getByRole('button', { name: 'Scale to 5' }).click();
    await page.getByText('web is to have 5 replicas.').waitFor();
    await press(page, 'Restart');
    await dialog(page).getByRole('button', { name: 'Restart' }).click();
    await page.getByText('Deployment web restarts its pods.').waitFor();

    const { spec } = (await read(web)).body;
    expect(spec?.replicas).to.equal(5);
    expect(spec?.template?.metadata.annotations).to.have.property('kubectl.kubernetes.io/restartedAt');
  });

  it('scales and labels the selected objects of a list', async () => {
    const page = await suite.open('admin', '/r/apps/v1/deployments/ns/shop');
    const change = async (label: string, field: string, text: string, action: string) => {
      await page.getByRole('row', { name: 'web' }).getByRole('checkbox').check();
      await page.getByRole('region', { name: 'One selected' }).getByRole('button', { name: label }).click();
      await dialog(page).getByLabel(field).fill(text);
      await dialog(page).getByRole('button', { name: action, exact: true }).click();
      await dialog(page).waitFor({ state: 'detached' });
    };
    await change('Scale', 'Replicas', '4', 'Scale to 4');
    await change('Label', 'Changes of labels', 'team=basket tier-', 'Label');

    const { spec, metadata } = (await read(web)).body;
    expect(spec?.replicas).to.equal(4);
    expect(metadata?.labels).to.include({ team: 'basket' }).and.to.not.have.property('tier');
    await suite.login.admin.call(
      'PATCH',
      web,
      { metadata: { labels: { tier: 'front' } } },
      { 'content-type': 'application/merge-patch+json' },
    );
  });

  it('follows an object, and reports its deletion', async () => {
    const page = await suite.open('admin', '/r/core/v1/configmaps/ns/shop/made');
    await page.getByText('UID').waitFor();
    const { admin } = suite.login;
    await admin.call(
      'PATCH',
      '/api/v1/namespaces/shop/configmaps/made',
      { metadata: { labels: { seen: 'live' } } },
      { 'content-type': 'application/merge-patch+json' },
    );
    await page.getByText('seen: live').waitFor();
    suite.allow(/status of 404/);
    await admin.remove('/api/v1/namespaces/shop/configmaps/made');
    await page.getByText('ConfigMap made is deleted.').waitFor();
  });

  it('deletes only the object whose name was typed', async () => {
    const page = await suite.open('admin', '/r/apps/v1/deployments/ns/shop/cart');
    await choose(page, 'Delete');
    const button = dialog(page).getByRole('button', { name: 'Delete Deployment cart' });
    expect(await button.getAttribute('aria-disabled')).to.equal('true');
    await dialog(page).getByLabel('Dependents').selectOption('Keep dependents');
    await dialog(page).getByLabel('Type cart to confirm').fill('cart');
    const sent = page.waitForRequest((request) => request.method() === 'DELETE');
    await button.click();
    await page.getByText('Deployment cart is being deleted.', { exact: true }).waitFor();

    expect((await sent).postDataJSON())
      .to.deep.include({ propagationPolicy: 'Orphan' })
      .and.to.have.nested.property('preconditions.uid');
    // The garbage collector removes the finalizer that keeps dependents.
    await eventually(
      async () => (await read('/apis/apps/v1/namespaces/shop/deployments/cart')).status,
      (status) => status === 404,
    );
  });

  it('disables forbidden actions, and names the missing right', async () => {
    const page = await suite.open('viewer', '/r/apps/v1/deployments/ns/shop/web');
    await choose(page, 'Restart');
    await dialog(page).getByText('patch deployments.apps web -n shop').waitFor();
    await dialog(page).getByRole('button', { name: 'Close' }).click();
    await page.goto(`${suite.url}/r/apps/v1/deployments/ns/shop/web/yaml`);
    await page.getByRole('button', { name: 'Edit' }).press('Enter');
    await dialog(page).getByText('update deployments.apps web -n shop').waitFor();
  });
});

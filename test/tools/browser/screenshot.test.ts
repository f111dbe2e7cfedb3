import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { loggedIn } from './demo.ts';
import { picture, pictures } from './picture.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

describe('the pictures of the console', () => {
  const { demo, page } = loggedIn('admin', '/');

  async function open(path: string, text: string): Promise<void> {
    await page.goto(`${demo.url}${path}`);
    await page.getByText(text).filter({ visible: true }).first().waitFor();
  }

  before(async () => {
    await page.setViewportSize({ width: 1280, height: 800 });
    await open('/r/apps/v1/deployments/ns/payments/checkout', 'The rollout is stuck');
  });

  it('show a Deployment with a stuck rollout', async () => {
    await page.getByRole('table', { name: 'Pods' }).getByText('ImagePullBackOff').waitFor();
    await page.getByRole('button', { name: 'Roll back' }).waitFor();
    await picture(page, 'deployment', 'png');
  });

  // A PNG of a page full of text is large.
  const sized = (height: number) => page.setViewportSize({ width: 1280, height });

  it('show the pods of all namespaces, and a broken one', async () => {
    await open('/r/core/v1/pods', 'ImagePullBackOff');
    await page
      .getByRole('row', { name: /CrashLoopBackOff|OOMKilled/ })
      .first()
      .waitFor();
    await sized(600);
    await picture(page, 'pods', 'png');
    await sized(800);
    await page
      .getByRole('link', { name: /^cart-/ })
      .first()
      .click();
    await page.getByText('Log of recommendations').waitFor();
    await picture(page, 'pod', 'png');
  });

  it('show objects in the dark theme, and on a phone', async () => {
    await page.emulateMedia({ colorScheme: 'dark' });
    await open('/r/apps/v1/deployments/ns/payments/checkout', 'The rollout is stuck');
    await page.getByRole('table', { name: 'Pods' }).getByText('ImagePullBackOff').waitFor();
    await picture(page, 'deployment-dark');
    await page.emulateMedia({ colorScheme: null });
    await page.setViewportSize({ width: 390, height: 800 });
    await open('/r/core/v1/pods', 'ImagePullBackOff');
    await page
      .getByRole('link', { name: /^cart-/ })
      .first()
      .click();
    await page.getByText('Log of recommendations').waitFor();
    await picture(page, 'pod-phone');
    await sized(800);
  });

  it('show a node', async () => {
    await open('/r/core/v1/nodes/node-1', 'Pods of this node');
    await page.getByRole('row', { name: /^memory 8Gi .* %/ }).waitFor();
    await page.getByRole('table', { name: 'Pods of this node' }).locator('tbody a').first().waitFor();
    await picture(page, 'node', 'png');
  });

  it('show the logs of a workload', async () => {
    await page.goto(`${demo.url}/r/apps/v1/deployments/ns/shop/storefront/logs`);
    await page.locator('.log-row').nth(8).waitFor();
    await sized(560);
    await picture(page, 'logs', 'png');
    await sized(800);
  });

  it('show users, and a new binding', async () => {
    await open('/users', 'Corporate directory');
    await page
      .getByRole('row', { name: /Noa Nobody/ })
      .getByText('None')
      .waitFor();
    await sized(560);
    await picture(page, 'people', 'png');
    await sized(800);
    await page.goto(`${demo.url}/bindings/new`);
    await page.getByLabel('A group').check();
    await page.getByLabel('Group', { exact: true }).fill('local:oncall');
    await page.getByLabel('Role', { exact: true }).fill('view');
    await page.getByLabel('Role', { exact: true }).press('Escape');
    await page.locator('.rules').waitFor();
    await page.getByLabel('One or more namespaces').check();
    await page.getByLabel('shop', { exact: true }).check();
    await page.getByText('local:oncall gets view: shop.').waitFor();
    await picture(page, 'binding', 'png');
  });

  it('show the search, and the editor with its help', async () => {
    await open('/r/core/v1/nodes', 'node-1');
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog', { name: 'Go to' }).getByRole('combobox').fill('storefront');
    await page
      .getByRole('dialog', { name: 'Go to' })
      .getByRole('option', { name: /^storefront/ })
      .first()
      .waitFor();
    await picture(page, 'search', 'png');
    await page.keyboard.press('Escape');
    await page.goto(`${demo.url}/new/apps/v1/deployments/ns/shop`);
    await page.locator('.edit-code .cm-content').click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('        imageP');
    await page.locator('.cm-tooltip-autocomplete li', { hasText: 'imagePullPolicy' }).waitFor();
    await picture(page, 'editor', 'png');
  });

  it('open the README, and are small together', async () => {
    const sizes = await Promise.all((await readdir(pictures)).map(async (name) => (await stat(join(pictures, name))).size));
    const [, first = ''] = /^!\[[^\]]+\]\((.+)\)$/m.exec(await readFile(join(root, 'README.md'), 'utf8')) ?? [];

    expect(Math.max(...sizes)).to.be.at.most(150_000);
    expect(sizes.reduce((sum, size) => sum + size, 0)).to.be.within(1, 3_000_000);
    expect(first).to.match(/^docs\/screenshots\//);
    expect((await stat(join(root, first))).isFile()).to.equal(true);
  });
});

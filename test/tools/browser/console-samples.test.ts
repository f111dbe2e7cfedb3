/** Samples of plugins on the demo, installed as their READMEs say. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { barriers, expectAccessible } from './axe.ts';
import { Visitor } from './chromium.ts';
import { loggedIn } from './demo.ts';
import { configMaps, consolePlugins, pluginsOf } from './plugins.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const run = promisify(execFile);
const samples = ['image-tags', 'warnings', 'namespace-owners'] as const;

describe('samples of plugins', () => {
  const { browser, demo, page } = loggedIn('admin', '/', { users: 5 });
  const { kubernetes, isListed } = pluginsOf(demo);

  before(async () => {
    await Promise.all(samples.map(install));
    for (const name of samples) await isListed(name);
  });
  afterEach(async () => {
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  /** Applies what the command of the README prints. `test:docs` runs the command with kubectl. */
  async function install(name: string): Promise<void> {
    const command = `npm run --silent sample ${name} | kubectl apply -f -`;
    expect(await readFile(join(root, 'web/samples', name, 'README.md'), 'utf8')).to.contain(`    ${command}\n`);
    const { stdout } = await run('npm', ['run', '--silent', 'sample', name], { cwd: root });
    const { items } = JSON.parse(stdout) as { items: { kind: string }[] };
    for (const object of items) await kubernetes('POST', object.kind === 'ConfigMap' ? configMaps : consolePlugins, object);
  }

  it('show the images that run, with their tags and namespaces', async () => {
    await page.goto(`${demo.url}/`);
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Image tags' }).click();
    const checkout = page.getByRole('row').filter({ hasText: 'checkout' });
    await checkout.filter({ hasText: '4.2.0-typo' }).waitFor();
    expect(await checkout.count()).to.equal(2);
    expect(await checkout.first().textContent()).to.contain('2 tags run');
    await page.getByRole('searchbox').fill('postgres');
    const cells = page.getByRole('row').filter({ hasText: 'postgres' }).getByRole('cell');
    expect((await cells.allTextContents()).slice(1)).to.deep.equal(['17.2', '2', 'payments']);
    await expectAccessible(page);
  });

  it('show warnings of the last hour by minute and by reason', async () => {
    await page.goto(`${demo.url}/x/warnings`);
    await page
      .getByRole('img', { name: /Warnings in the last hour, Objects with a warning/ })
      .locator('canvas')
      .waitFor();
    const reasons = page.getByRole('table', { name: 'Reasons' });
    await reasons.getByRole('row').nth(1).waitFor();
    expect(await reasons.getByRole('cell').nth(1).textContent()).to.match(/^[1-9]/);
    await expectAccessible(page);
  });

  it('show the owners of namespaces, and change them by a form', async () => {
    await page.goto(`${demo.url}/x/namespace-owners`);
    await page.getByRole('row').filter({ hasText: 'shop' }).getByText('No owner').waitFor();
    await expectAccessible(page);
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.getByRole('link', { name: 'shop', exact: true }).click();
    await page.getByRole('link', { name: 'Owner', exact: true }).click();
    await page.getByLabel('Owner').fill('Team Shop');
    await page.getByLabel('Contact').fill('the kitchen');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Enter an e-mail address').waitFor();
    await page.getByLabel('Contact').fill('shop@example.com');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    const { metadata } = (await (await kubernetes('GET', 'api/v1/namespaces/shop')).json()) as {
      metadata: { annotations: Record<string, string> };
    };
    expect(metadata.annotations).to.include({ 'example.com/owner': 'Team Shop', 'example.com/contact': 'shop@example.com' });
    await expectAccessible(page);
    await page.goto(`${demo.url}/x/namespace-owners`);
    await page.getByRole('cell', { name: 'Team Shop' }).waitFor();
  });

  it("use the caller's own rights alone", async () => {
    const other = new Visitor(await browser.newContext());
    const tab = await other.openTab();
    await demo.logIn(tab, 'nobody', '/x/image-tags');
    await tab.getByText('You may not see this.').waitFor();
    await tab.goto(`${demo.url}/x/warnings`);
    await tab.getByText('You may not see this.').waitFor();
    expect(await barriers(tab)).to.deep.equal([]);
    await other.leave();
  });
});

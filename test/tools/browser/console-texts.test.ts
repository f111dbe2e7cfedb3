/** Texts are loaded with the pages that show them. */
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { z } from 'zod';
import { loggedIn, press } from './demo.ts';

const english = z
  .record(z.string(), z.string())
  .parse(JSON.parse(readFileSync(new URL('../../../web/src/text/en.json', import.meta.url), 'utf8')));
const pod = '/r/core/v1/pods/ns/payments/orders-db-0';
/** Pages with a text of their main part in German and Chinese. */
const pages: readonly (readonly [string, string, string])[] = [
  ['/users', 'Benutzer', '用户'],
  ['/bindings/new', 'Neue Bindung', '新建绑定'],
  ['/kinds', 'Alle Arten', '所有类型'],
  ['/r/core/v1/pods', 'Pods', 'Pods'],
  ['/events', 'Aktuelle Ereignisse', '最近的事件'],
  [pod, 'orders-db-0', 'orders-db-0'],
  [`${pod}/logs`, 'orders-db-0', 'orders-db-0'],
  ['/r/apps/v1/deployments/ns/shop/storefront', 'storefront', 'storefront'],
  ['/r/core/v1/nodes/node-1', 'node-1', 'node-1'],
  ['/r/core/v1/namespaces/shop', 'shop', 'shop'],
  ['/new/core/v1/configmaps/ns/shop', 'ConfigMap', 'ConfigMap'],
];
const keys = new RegExp(
  `(?:${Object.keys(english)
    .map((key) => key.replaceAll('.', '\\.').replace(/_(?:one|other)$/, ''))
    .join('|')})(?![\\w.])`,
);

describe('the texts of the console', () => {
  const { demo, page } = loggedIn('admin', '/', { users: 2 });
  // Its log is refused before the container runs.
  before(async () => {
    await page.goto(demo.url + pod);
    await page.locator('.page-head').getByText('Running').waitFor();
  });

  for (const [index, language] of ['de', 'zh'].entries())
    it(`are loaded with each page in ${language}`, async () => {
      await page.evaluate(`localStorage.setItem('atrium-language', '${language}')`);
      for (const [path, ...headings] of pages) {
        await page.goto(demo.url + path);
        await page.getByRole('heading', { level: 1, name: headings[index] ?? '' }).waitFor();
        await page.locator('main .skeleton').first().waitFor({ state: 'detached' });

        expect(await page.locator('main').innerText(), path).not.to.match(keys);
      }
    });

  it('follow a change of the language on a page with lazily loaded texts', async () => {
    await page.evaluate("localStorage.setItem('atrium-language', 'en')");
    await page.goto(`${demo.url}/users`);
    await page.getByRole('heading', { level: 1, name: 'Users' }).waitFor();
    await press(page, 'Language');
    await page.getByRole('menuitemradio', { name: 'Deutsch' }).click();
    await page.getByRole('heading', { level: 1, name: 'Benutzer' }).waitFor();

    expect(await page.locator('main').innerText()).not.to.match(keys);
  });

  it('are those of the editor, too', async () => {
    await page.evaluate("localStorage.setItem('atrium-language', 'de')");
    await page.goto(`${demo.url}/r/core/v1/configmaps/ns/shop/storefront/yaml`);
    await press(page, 'Bearbeiten');
    await page.getByRole('textbox', { name: /als YAML$/ }).press('Control+F');
    await page.getByRole('textbox', { name: 'Suchen' }).waitFor();

    expect(await page.locator('.cm-search').innerText())
      .to.contain('alle ersetzen')
      .and.not.contain('replace');
    await page.evaluate("localStorage.setItem('atrium-language', 'en')");
  });
});

/** A language that an installation adds by a setting and a public ConfigMap with its texts. */
import { expect } from 'chai';
import { barriers } from './axe.ts';
import { loggedIn } from './demo.ts';
import { picture } from './picture.ts';

describe('a language that is added to the console', () => {
  const { demo, page } = loggedIn('admin', '/', { users: 2 });
  const menu = (name: string) => page.getByRole('button', { name, exact: true });

  async function make(name: string, words: unknown, labels: Record<string, string> = {}): Promise<void> {
    const answer = await fetch(`${demo.url}/api/kubernetes/api/v1/namespaces/atrium-system/configmaps`, {
      method: 'POST',
      headers: { authorization: `Bearer ${demo.person('admin').token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        metadata: {
          name,
          labels: { 'console.platform.io/plugin': name, ...labels },
          annotations: { 'console.platform.io/path': 'locales' },
        },
        data: Object.fromEntries(['ar', 'de'].map((tag) => [`${tag}.json`, JSON.stringify(words)])),
      }),
    });
    expect(answer.status).to.equal(201);
  }
  const offered = async () => {
    await menu('Language').click();
    // The service loads both languages at once, after the page.
    await page.getByRole('menuitemradio', { name: '(ar)' }).waitFor();
    const names = await page.getByRole('menuitemradio').allTextContents();
    await page.keyboard.press('Escape');
    return names;
  };

  before(async () => {
    await page.route('**/api/v1/i18n/languages', (route) =>
      route.fulfill({ json: { availableLanguages: ['en', 'ar', 'fr'].map((id) => ({ id, name: `(${id})` })) } }),
    );
    // The public ConfigMap has an unknown key, and the other one is not public.
    await make('arabic', { 'users.title': 'المستخدمون', 'shell.language': 'اللغة', stray: 'x' }, { 'console.platform.io/public': 'true' });
    await make('secret', { 'groups.title': 'never' });
    const isThere = async () =>
      (await (await fetch(`${demo.url}/api/v1/console-plugins`)).text()).includes('/plugins/arabic/locales/ar.json');
    while (!(await isThere())) await new Promise((resolve) => setTimeout(resolve, 100));
  });

  it('is offered beside the built-in ones, but not without texts', async () => {
    await page.reload();
    await page.getByRole('link', { name: 'Users', exact: true }).waitFor();

    expect(await offered()).to.deep.equal(['English', 'Deutsch', '中文', '(ar)']);
  });

  it('is shown from right to left, with English for missing texts, also after a reload', async () => {
    await menu('Language').click();
    await page.getByRole('menuitemradio', { name: '(ar)' }).click();
    await page.getByRole('link', { name: 'المستخدمون' }).waitFor();
    await page.getByRole('link', { name: 'Groups', exact: true }).waitFor();
    await page.reload();
    await page.getByRole('link', { name: 'المستخدمون' }).waitFor();

    expect(await page.evaluate('[document.documentElement.lang, document.documentElement.dir]')).to.deep.equal(['ar', 'rtl']);
    expect(await barriers(page)).to.deep.equal([]);
    // At 1280 pixels the column of the source may have no room.
    await page.setViewportSize({ width: 1700, height: 900 });
    await page.goto(`${demo.url}/users`);
    await page.getByRole('link', { name: 'Ada Admin' }).waitFor();
    // Truncated texts keep their beginning, also in scripts from left to right.
    await page.getByRole('cell', { name: 'Corporate directory' }).first().waitFor();
    expect(await page.evaluate("getComputedStyle(document.querySelector('td.c-source')).direction")).to.equal('ltr');
    await picture(page, 'users right to left');
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  it('replaces no texts of a built-in language', async () => {
    await menu('اللغة').click();
    await page.getByRole('menuitemradio', { name: 'Deutsch' }).click();
    await page.getByRole('link', { name: 'Benutzer', exact: true }).waitFor();

    expect(await page.getByText('المستخدمون').count()).to.equal(0);
  });

  it('gives way to Chinese at once', async () => {
    await menu('Sprache').click();
    await page.getByRole('menuitemradio', { name: '中文' }).click();
    await page.getByRole('heading', { name: '用户' }).waitFor();
    await page.getByRole('link', { name: 'Ada Admin' }).waitFor();

    expect(await page.evaluate('[document.documentElement.lang, document.documentElement.dir]')).to.deep.equal(['zh', 'ltr']);
    expect(await barriers(page)).to.deep.equal([]);
    await picture(page, 'users in chinese');
  });
});

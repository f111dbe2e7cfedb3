/** Outages while the console does something: a write, a dialog, the first load, a language. */
import { expect } from 'chai';
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { z } from 'zod';
import { eventually } from '../../support/cluster-admin.ts';
import { barriers } from './axe.ts';
import { isLoggedIn, press } from './demo.ts';
import { demoBehindFront } from './front.ts';

const ofBrowsers = /Failed to fetch|NetworkError|Load failed|dynamically imported|preload/;
const user = z.object({ metadata: z.object({ name: z.string() }), spec: z.object({ username: z.string() }) });

describe('the console during an outage', () => {
  const { browser, demo, front } = demoBehindFront({ users: 5 });
  let state: Awaited<ReturnType<BrowserContext['storageState']>>;
  let page: Page;

  const strip = () => page.getByRole('alert').filter({ hasText: 'The service has not answered since' });
  const dialog = () => page.getByRole('dialog');
  const inDialog = (name: string) => dialog().getByRole('button', { name, exact: true });
  const said = async () => z.string().parse(await page.evaluate('document.body.innerText'));

  async function open(path: string, options: BrowserContextOptions = { storageState: state }): Promise<void> {
    page = await (await browser.newContext(options)).newPage();
    await page.goto(`${demo.url}${path}`);
  }
  async function jane() {
    const headers = { authorization: `Bearer ${demo.person('admin').token}` };
    const answer = await (await fetch(`${demo.url}/auth/v2/users?search=jane@example.com`, { headers })).json();
    return z.object({ items: z.array(user) }).parse(answer).items[0] ?? expect.fail('no Jane');
  }
  /** Stops answers, and waits until the page tells of it. */
  async function goAway(answers: 'files' | 'none'): Promise<void> {
    front.answer(answers);
    await page.evaluate("dispatchEvent(new Event('online'))");
    await page.evaluate("dispatchEvent(new Event('focus'))");
    await strip().waitFor();
  }
  async function comeBack(): Promise<void> {
    front.answer('all');
    await strip().waitFor({ state: 'detached' });
  }
  /** Opens the form of Jane's name with another name in it. */
  async function rename(to: string): Promise<void> {
    await open(`/users/${(await jane()).metadata.name}`);
    await press(page, 'Edit');
    await dialog().getByLabel('Name', { exact: true }).fill(to);
    front.written.length = 0;
  }

  before(async () => {
    const context = await browser.newContext();
    await demo.logIn(await context.newPage(), 'admin');
    state = await context.storageState();
    await context.close();
  });
  afterEach(async () => {
    expect(await said()).not.to.match(ofBrowsers);
    await page.context().close();
  });

  describe('that stops a write', () => {
    it('says that it was not made, keeps the input, and sends it once when the user repeats it', async () => {
      await rename('Jane Away');
      await goAway('none');
      await inDialog('Save').click();
      await dialog().getByText('The service cannot be reached. No change was made.').waitFor();

      expect(await dialog().getByLabel('Name', { exact: true }).inputValue()).to.equal('Jane Away');
      expect(await barriers(page)).to.deep.equal([]);
      await comeBack();
      expect(front.written).to.deep.equal([]);
      expect(await dialog().getByLabel('Name', { exact: true }).inputValue()).to.equal('Jane Away');
      await inDialog('Save').click();
      await dialog().waitFor({ state: 'detached' });

      expect((await jane()).spec.username).to.equal('Jane Away');
      expect(front.written).to.have.length(1);
      await page.getByRole('heading', { name: 'Jane Away' }).waitFor();
    });

    it('says that it may have been made if its answer is lost, keeps the input, and does not repeat it', async () => {
      await rename('Jane Unsure');
      front.answer('cut');
      await inDialog('Save').click();
      await dialog().getByText('The change may have been made. Check before you try again.').waitFor();

      expect(await dialog().getByLabel('Name', { exact: true }).inputValue()).to.equal('Jane Unsure');
      expect((await jane()).spec.username).to.equal('Jane Unsure');
      front.answer('all');
      await inDialog('Cancel').click();
      await page.getByRole('heading', { name: 'Jane Unsure' }).waitFor();
      expect(front.written).to.have.length(1);
    });

    it('lets a dialog be cancelled whose secret is shown once, while its answer is missing', async () => {
      await open('/tokens');
      await press(page, 'New token');
      await dialog().getByLabel('Description').fill('from the train');
      front.answer('held');
      await inDialog('Make the token').click();
      await dialog().getByText('The change may have been made. Check before you try again.').waitFor();

      await inDialog('Cancel').click();
      await dialog().waitFor({ state: 'detached' });
      await strip().waitFor();
      await comeBack();
    });
  });

  it('keeps the connections of a workload, which are read every few seconds', async () => {
    page = await (await browser.newContext({ storageState: state })).newPage();
    await page.clock.install();
    await page.goto(`${demo.url}/r/apps/v1/deployments/ns/shop/cart`);
    const main = page.getByRole('main');
    await main.getByText('ReplicaSet', { exact: true }).first().waitFor();
    await goAway('none');
    const failed = page.waitForEvent('requestfailed', (request) => request.url().includes('/replicasets?'));
    await page.clock.runFor(12_000);
    await failed;
    await page.clock.runFor(1000);

    expect(await main.getByText('ReplicaSet', { exact: true }).count()).to.be.greaterThan(0);
    expect(await main.getByText('could not be read').count()).to.equal(0);
    front.answer('all');
    await eventually(
      async () => {
        await page.clock.runFor(5000);
        return strip().count();
      },
      (count) => count === 0,
    );
  });

  describe('that begins before a dialog has its content', () => {
    it('lets the dialog be cancelled, and fills it when the service is back', async () => {
      await open('/r/apps/v1/deployments/ns/shop/cart');
      await page.getByRole('button', { name: 'Scale', exact: true }).waitFor();
      await goAway('files');
      await press(page, 'Scale');
      await dialog().getByText('The page tries again by itself.').waitFor();
      expect(await barriers(page)).to.deep.equal([]);
      await inDialog('Cancel').click();
      await dialog().waitFor({ state: 'detached' });
      await press(page, 'Scale');
      await comeBack();

      await dialog().getByLabel('Replicas').waitFor();
      await inDialog('Cancel').click();
      await dialog().waitFor({ state: 'detached' });
    });

    it('says why an overlay without its code does not open, and opens it when the service is back', async () => {
      await open('/about');
      await isLoggedIn(page, demo.person('admin').email);
      await goAway('none');
      await page.keyboard.press('Control+k');
      await page.locator('.toasts').getByText('The service cannot be reached.').waitFor();
      await comeBack();
      await page.keyboard.press('Control+k');

      await page.getByRole('dialog').getByRole('combobox').waitFor();
    });
  });

  describe('that begins before the console is opened', () => {
    it('waits for the service, and shows the page of the user then', async () => {
      front.answer('files');
      await open('/users');
      await page.getByRole('alert').getByText('The service cannot be reached. The page tries again by itself.').waitFor();

      expect(await page.getByRole('button', { name: 'Log in' }).count()).to.equal(0);
      await Promise.all([page.waitForEvent('requestfailed', (request) => request.url().includes('/token/info')), press(page, 'Try again')]);
      await page.getByRole('alert').getByText('The service cannot be reached. The page tries again by itself.').waitFor();
      expect(await barriers(page)).to.deep.equal([]);
      front.answer('all');
      await page.getByRole('link', { name: 'Ada Admin' }).waitFor();
      expect(new URL(page.url()).pathname).to.equal('/users');
    });

    it('tells visitors of it, and lets them log in then', async () => {
      front.answer('files');
      await open('/', {});
      await strip().waitFor();
      expect(await barriers(page)).to.deep.equal([]);
      await comeBack();
      await press(page, 'Log in');

      await page.locator('#password').waitFor();
    });
  });

  describe('that begins while a plugin starts', () => {
    const files = { manifest: /plugin-manifest\.json/, entry: /entry\.js/, texts: /locales\/en\.json/, code: /\/assets\/run-/ };
    const answers = { 'does not come': undefined, 'is replaced by a refusal of a proxy': 503, 'is replaced by a page of a proxy': 200 };
    for (const [file, pattern] of Object.entries(files))
      for (const [what, status] of Object.entries(answers))
        it(`shows the page of the plugin when the service is back: the file (${file}) ${what}`, async () => {
          const context = await browser.newContext({ storageState: state });
          page = await context.newPage();
          let refused = 0;
          await page.route(pattern, (route) => {
            refused += 1;
            return status === undefined ? route.abort() : route.fulfill({ status, contentType: 'text/html', body: '<p>Log in</p>' });
          });
          await page.goto(`${demo.url}/x/cost-report`);
          await eventually(
            () => refused,
            (times) => times > 0,
          );
          await page.unrouteAll();

          await page.getByText('In all').waitFor();
        });
  });

  describe('of the texts of a language', () => {
    const lang = () => page.evaluate('document.documentElement.lang');

    it('says that a language cannot be loaded, and keeps the present one', async () => {
      await open('/about');
      await isLoggedIn(page, demo.person('admin').email);
      await goAway('none');
      const choose = async () => {
        await press(page, 'Language');
        await page.getByRole('menuitemradio', { name: 'Deutsch' }).click();
      };
      await choose();
      await page.locator('.toasts').getByText('The service cannot be reached.').waitFor();
      expect(await lang()).to.equal('en');
      await comeBack();
      await choose();

      await page.getByRole('heading', { name: 'Über Atrium' }).waitFor();
      expect(await lang()).to.equal('de');
    });

    it('begins in English, and changes to the language of the browser when its texts can be loaded', async () => {
      const context = await browser.newContext({ storageState: state, locale: 'de-DE' });
      page = await context.newPage();
      await page.route(/\/assets\/first-/, (route) => route.abort());
      await page.goto(`${demo.url}/about`);
      await page.getByRole('link', { name: 'Users', exact: true }).waitFor();
      expect(await lang()).to.equal('en');
      await page.unrouteAll();

      await page.getByRole('link', { name: 'Benutzer', exact: true }).waitFor();
      expect(await eventually(lang, (tag) => tag === 'de')).to.equal('de');
    });
  });
});

/** Requests of the page of an object: a read, and a watch for changes. */
import { expect } from 'chai';
import { Visitor } from './chromium.ts';
import { loggedIn } from './demo.ts';
import { answersAbout, create, merge, remove } from './kind-pages.ts';

const namespace = 'shop';
const maps = `api/v1/namespaces/${namespace}/configmaps`;
const list = `/r/core/v1/configmaps/ns/${namespace}`;
const aConfigMap = (name: string, colour: string) => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace } },
  data: { colour },
});

describe('the page of an object', () => {
  const { browser, demo, visitor, page } = loggedIn('admin', '/');
  const held = async (pattern: string | RegExp) => {
    const release = Promise.withResolvers<void>();
    await page.route(pattern, async (route) => {
      await release.promise;
      await route.continue();
    });
    return release.resolve;
  };

  afterEach(() => page.unrouteAll({ behavior: 'ignoreErrors' }));

  it('reads the object once, and shows what its watch reports', async () => {
    await create(demo, maps, aConfigMap('painted', 'red'));
    const seen = answersAbout(page, `${maps}/painted`);
    await page.goto(`${demo.url}${list}`);
    await page.getByRole('link', { name: 'painted' }).click();
    await page.getByText('red', { exact: true }).waitFor();
    for (const colour of ['green', 'blue']) {
      await merge(demo, `${maps}/painted`, { data: { colour } });
      await page.getByText(colour, { exact: true }).waitFor();
    }
    seen.end();

    expect(seen.reads).to.deep.equal([200]);
    expect(seen.watches).to.deep.equal([[200, null]]);
  });

  it('shows the row of the list until the object is read', async () => {
    await page.goto(`${demo.url}/r/core/v1/pods/ns/shop`);
    const link = page.locator('td.c-name a').first();
    const name = (await link.textContent()) ?? '';
    const release = await held(new RegExp(`/pods/${name}$`));
    await link.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name }).waitFor();
    const facts = page.locator('main dl.facts');

    expect(await facts.locator('dt').allTextContents()).to.include.members(['Ready', 'Status', 'Restarts', 'Age']);
    expect(await page.getByRole('link', { name: 'YAML' }).count()).to.equal(1);
    expect(await page.getByText('Labels').count()).to.equal(0);
    release();
    await page.getByText('Labels', { exact: true }).waitFor();
  });

  it('requests the object before the rights are known', async () => {
    await create(demo, maps, aConfigMap('early', 'red'));
    const release = await held('**/selfsubjectaccessreviews*');
    await page.goto(`${demo.url}${list}/early`);
    await page.getByText('red', { exact: true }).waitFor();
    release();
    await merge(demo, `${maps}/early`, { data: { colour: 'green' } });
    await page.getByText('green', { exact: true }).waitFor();
  });

  it('notices a deletion that no event reports', async () => {
    await create(demo, maps, aConfigMap('missed', 'red'));
    await page.route(/configmaps\?.*watch=true/, (route) => route.fulfill({ body: '' }));
    await page.goto(`${demo.url}${list}/missed`);
    await page.getByText('red', { exact: true }).waitFor();
    await remove(demo, `${maps}/missed`);
    await page.getByText('ConfigMap missed is deleted.').waitFor();
    await visitor.complainsOf('status of 404');
  });

  it('greys the state of an object that is deleted', async () => {
    await page.goto(`${demo.url}/r/core/v1/pods/ns/shop`);
    const name = (await page.locator('td.c-name a', { hasText: 'storefront' }).first().textContent()) ?? '';
    await page.goto(`${demo.url}/r/core/v1/pods/ns/shop/${name}`);
    const state = page.locator('.page-head .phase');
    await state.waitFor();
    const isGrey = () => state.evaluate((word) => word.closest('.old') !== null);
    expect(await isGrey()).to.equal(false);
    await remove(demo, `api/v1/namespaces/shop/pods/${name}?gracePeriodSeconds=0`);
    await page.getByText(`Pod ${name} is deleted.`).waitFor();

    expect(await isGrey()).to.equal(true);
  });

  it('counts the age of an object on, and changes the page only for another text', async () => {
    await create(demo, maps, aConfigMap('aging', 'red'));
    const tab = await visitor.openTab();
    await tab.clock.install();
    await tab.goto(`${demo.url}${list}/aging`);
    const age = tab.locator('.facts time');
    await age.getByText('this minute').waitFor();
    await tab.evaluate(`
      window.changes = 0;
      new MutationObserver((found) => { window.changes += found.length })
        .observe(document.querySelector('.facts time'), { childList: true, characterData: true, subtree: true, attributes: true });
    `);
    await tab.clock.runFor(15_000);
    expect(await tab.evaluate('changes')).to.equal(0);
    await tab.clock.fastForward(180_000);
    await age.getByText('3 minutes ago').waitFor();
    await tab.close();
  });

  it('names the user without the right to read the object, and the right', async () => {
    await create(demo, maps, aConfigMap('refused', 'red'));
    const other = new Visitor(await browser.newContext());
    const tab = await other.openTab();
    await demo.logIn(tab, 'nobody', `${list}/refused`);
    await tab.getByText('You may not see this.').waitFor();
    await tab.getByText(/get configmaps refused -n shop/).waitFor();

    expect(other.complaints.filter((text) => !text.includes('status of 403'))).to.deep.equal([]);
    await other.leave();
  });
});

describe('lists that are longer than one answer in the console', () => {
  const { demo, page } = loggedIn('admin', '/');
  const told = (count: number, kind: string) => page.getByText(`Only the first ${count} ${kind} were read.`).waitFor();
  const events = (next: (from: string) => string) =>
    page.route(/\/events\?(?!.*watch)/, (route) => {
      const from = new URL(route.request().url()).searchParams.get('continue') ?? '0';
      const items = [
        { metadata: { uid: `e${from}`, creationTimestamp: '2026-11-28T03:00:00Z' }, type: 'Normal', reason: `Seen${from}`, message: '' },
      ];
      return route.fulfill({ json: { metadata: { resourceVersion: '1', continue: next(from) }, items } });
    });

  afterEach(() => page.unrouteAll({ behavior: 'ignoreErrors' }));

  it('read the events of an object to their end', async () => {
    await events((from) => (from === '2' ? '' : String(Number(from) + 1)));
    await page.goto(`${demo.url}/r/apps/v1/deployments/ns/shop/storefront/events`);
    await page.getByRole('cell', { name: 'Seen2' }).waitFor();
    expect(await page.getByRole('row').count()).to.equal(4);
  });

  it('read a part of very many events, and tell it', async () => {
    await events((from) => String(Number(from) + 1));
    await page.goto(`${demo.url}/r/apps/v1/deployments/ns/shop/storefront/events`);
    await told(10, 'Events');
  });

  it('name namespaces and groups of which only the first were read', async () => {
    const part = (items: object[]) => ({ metadata: { resourceVersion: '1', continue: 'more', remainingItemCount: 7 }, items });
    const names = Array.from({ length: 203 }, (_, index) => ({ metadata: { name: `team-${index}` } }));
    const limits: (string | null)[] = [];
    await page.route(/\/auth\/v1\/namespaces\?.*resource=pods/, (route) => {
      limits.push(new URL(route.request().url()).searchParams.get('limit'));
      return route.fulfill({ json: part(names) });
    });
    await page.route(/\/auth\/v1\/groups\?/, (route) => route.fulfill({ json: part([{ metadata: { name: 'dev' }, spec: {} }]) }));
    await page.goto(`${demo.url}/access`);
    await told(203, 'Namespaces');
    await page.goto(`${demo.url}/bindings/new`);
    await page.getByLabel('One or more namespaces').check();
    await told(203, 'Namespaces');
    await page.getByText('and 3 more').waitFor();
    expect(await page.locator('.choices label').count()).to.equal(200);
    await page.goto(`${demo.url}/users/new`);
    await told(1, 'Groups');
    expect(new Set(limits)).to.deep.equal(new Set([null]));
  });

  it('claim neither a number nor an end of a list whose first part is empty', async () => {
    const empty = (rest: object) => ({ metadata: { resourceVersion: '1', continue: 'more' }, items: [], ...rest });
    const table = { kind: 'Table', apiVersion: 'meta.k8s.io/v1', columnDefinitions: [], rows: [] };
    await page.route(/\/(pods|resourcequotas|rolebindings|jobs)\?(?!.*watch)/, (route) =>
      route.fulfill({ json: empty(/as=Table/.test(route.request().headers().accept ?? '') ? table : {}) }),
    );
    await page.route(/\/auth\/v1\/namespaces\?.*resource=pods/, (route) => route.fulfill({ json: empty({}) }));
    const notice = (kind: string) => page.getByRole('main').getByText(`Not all ${kind} were read.`);
    const pages = [
      ['/r/core/v1/namespaces/shop', { Pods: 1, ResourceQuotas: 1, RoleBindings: 1 }],
      // The chain and the table.
      ['/r/batch/v1/cronjobs/ns/shop/nightly-report', { Jobs: 2 }],
      ['/access', { Namespaces: 1 }],
    ] as const;
    for (const [path, kinds] of pages) {
      await page.goto(demo.url + path);
      for (const [kind, times] of Object.entries(kinds))
        await notice(kind)
          .nth(times - 1)
          .waitFor();
      expect(await page.getByRole('main').innerText()).not.to.match(/Only the first|There are no|No quota|No role|No namespace/);
    }
  });
});

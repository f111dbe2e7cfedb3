/** Kinds that `lists.resources` names: the console leaves filter, order and counts to the service. */
import { expect } from 'chai';
import { aConfigMap, aWidget, objects, ofAlice, resources, widgetDefinition } from '../../service/listed-resources/support.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite, needsNoStop } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { theConsole } from '../../support/static-directory.ts';
import { barriers } from './axe.ts';
import { startChromium, Visitor } from './chromium.ts';
import { isLoggedIn, press, submitPassword } from './demo.ts';

/** A kind without a list of the service. */
const toolDefinition = (() => {
  const definition = structuredClone(widgetDefinition) as { metadata: { name: string }; spec: { names: object } } & typeof widgetDefinition;
  definition.metadata.name = 'tools.example.com';
  definition.spec.names = { plural: 'tools', singular: 'tool', kind: 'Tool', listKind: 'ToolList' };
  return definition;
})();
const aTool = (name: string, state: string) => ({ ...aWidget('shop-06', name, { state }), kind: 'Tool' });

const password = 'a long enough passphrase';
const [admin, alice] = ['admin@example.com', 'alice@example.com'];

describe('lists of the console that the service keeps', () => {
  const service = forSuite(() => startEmbeddedLogin({ emails: [admin, alice], password, lists: { resources }, files: theConsole }));
  const browser = forSuite(startChromium, (it) => it.close());
  const visitor = forSuite(async () => new Visitor(await browser.newContext({ ignoreHTTPSErrors: true })), needsNoStop);
  const page = forSuite(() => visitor.openTab(), needsNoStop);

  const names = () => page.locator('td.c-name a').allTextContents();
  const count = (text: string) => page.getByRole('status').getByText(text, { exact: true }).waitFor();

  async function logIn(email: string, path: string): Promise<void> {
    await page.goto(`${service.url}${path}`);
    await press(page, 'Log in');
    await submitPassword(page, { email, password });
    await isLoggedIn(page, email);
  }

  before(async () => {
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' };
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: alice }];
    await service.admin.apply(
      ...objects,
      clusterRoleBinding('console-admin', 'cluster-admin', { kind: 'User', name: admin }),
      ...ofAlice.map((namespace) => ({
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata: { name: 'console-alice', namespace },
        roleRef,
        subjects,
      })),
    );
    await logIn(admin, '/');
  });
  afterEach(() => expect(visitor.complaints.splice(0)).to.deep.equal([]));

  it('show the columns of the setting, and the whole list in the order of the address', async () => {
    await page.goto(`${service.url}/r/core/v1/configmaps?sort=-tier&selector=suite%3Dlists`);
    await count('48 objects');

    const heads = ['Name', 'Namespace', 'Tier', 'Age'];
    expect(await page.locator('thead th:not(.check)').allTextContents()).to.deep.equal(heads);
    expect(await page.getByRole('columnheader', { name: 'Tier' }).getAttribute('aria-sort')).to.equal('descending');
    expect(await page.getByText('Filter and sort work on the first').count()).to.equal(0);
    expect(await barriers(page)).to.deep.equal([]);
  });

  it('cases/04 keep the digits of an int64, below the heading of the definition', async () => {
    // The embedded cluster rounds such numbers itself, so the answer is changed here.
    const change = (pattern: RegExp, edit: (text: string) => string) =>
      page.route(pattern, async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, body: edit(await response.text()) });
      });
    await change(/\/api\/v2\/resources$/, (text) => text.replace('"name":"tier",', '"name":"tier","title":"Größe 2",'));
    await change(/\/v1\/configmaps\?(?!.*watch)/, (text) => text.replaceAll('"tier":"tier-0"', '"tier":9007199254740993'));
    await page.goto(`${service.url}/r/core/v1/configmaps?selector=suite%3Dlists`);
    await page.getByRole('columnheader', { name: 'Größe 2' }).waitFor();
    await page.getByRole('cell', { name: '9007199254740993', exact: true }).first().waitFor();
    await page.unrouteAll({ behavior: 'wait' });
  });

  it('keep their rows until the rows of another order or filter have arrived', async () => {
    await page.goto(`${service.url}/r/core/v1/configmaps?selector=suite%3Dlists`);
    await count('48 objects');
    await page.evaluate(`
      window.fewest = Infinity;
      const note = () => { window.fewest = Math.min(window.fewest, document.querySelectorAll('td.c-name a').length) };
      new MutationObserver(note).observe(document.querySelector('main'), { childList: true, subtree: true });
    `);
    const busy = page.locator('table[aria-busy="true"]');
    for (const [change, first] of [
      [() => press(page, 'Name'), 'm3'],
      [() => page.getByPlaceholder('Filter by name or column').fill('m1'), 'm1'],
    ] as const) {
      const release = Promise.withResolvers<void>();
      await page.route('**/configmaps?*sortBy=*', async (route) => {
        await release.promise;
        await route.continue();
      });
      const shown = await names();
      await change();
      await busy.waitFor();
      expect(await names()).to.deep.equal(shown);
      release.resolve();
      await busy.waitFor({ state: 'detached' });
      expect((await names())[0]).to.equal(first);
      await page.unrouteAll({ behavior: 'wait' });
    }

    expect(await page.evaluate('fewest')).to.be.greaterThan(0);
  });

  it('are searched by the service, and updated in place', async () => {
    await service.admin.apply(aConfigMap('shop-02', 'sought', 'bronze'));
    await page.goto(`${service.url}/r/core/v1/configmaps/ns/shop-02`);
    await page.getByPlaceholder('Filter by name or column').fill('sought');
    await count('1 object');
    expect(await names()).to.deep.equal(['sought']);
    await service.admin.apply(aConfigMap('shop-02', 'sought', 'platinum'));
    await page.getByRole('cell', { name: 'platinum' }).waitFor();

    expect(new URL(page.url()).search).to.equal('?q=sought');
  });

  it('keep the focus in the search while they wait for an answer', async () => {
    await page.goto(`${service.url}/r/core/v1/configmaps/ns/shop-02`);
    await page.getByPlaceholder('Filter by name or column').focus();
    await page.keyboard.type('sou');
    await page.waitForURL(/\?q=sou$/);
    await page.keyboard.type('ght');
    await page.waitForURL(/\?q=sought$/);
    await count('1 object');

    expect(await names()).to.deep.equal(['sought']);
    expect(await page.evaluate('document.activeElement.value')).to.equal('sought');
  });

  it('count the objects by their state, and show one state alone', async () => {
    const made = ['Ready', 'Ready', 'Broken'].map((state, index) => aWidget('shop-03', `w${index}`, { size: index, state }));
    await service.admin.apply(...made);
    await page.goto(`${service.url}/r/example.com/v1/widgets/ns/shop-03`);
    const choice = page.locator('.filters select');
    await choice.locator('option', { hasText: 'Ready (2)' }).waitFor({ state: 'attached' });
    await choice.selectOption('Broken');
    await count('1 object');

    expect(await names()).to.deep.equal(['w2']);
    expect(page.url()).to.contain('?is=Broken');
    expect(await barriers(page)).to.deep.equal([]);
  });

  it('update a row in place among the loaded rows, for kinds with and without a list of the service', async () => {
    const tier = (value: string) => ({ metadata: { annotations: { 'example.com/tier': value } } });
    const patch = (path: string, body: object) =>
      service.admin.call('PATCH', path, body, { 'content-type': 'application/merge-patch+json' });
    const many = Array.from({ length: 501 }, (_, index) => aTool(`t${String(index).padStart(3, '0')}`, 'new'));
    await service.admin.apply(toolDefinition);
    await service.admin.apply(aConfigMap('shop-06', 'changing', 'bronze'), ...many, {
      ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'robot', namespace: 'shop-06' }, data: { one: 'MQ==' } },
    });
    const row = (name: string) => page.getByRole('row', { name: new RegExp(`\\b${name}\\b`) });

    await page.goto(`${service.url}/r/core/v1/configmaps/ns/shop-06`);
    await row('changing').getByText('bronze').waitFor();
    await patch('/api/v1/namespaces/shop-06/configmaps/changing', tier('gold'));
    await row('changing').getByText('gold').waitFor();

    await page.goto(`${service.url}/r/core/v1/secrets/ns/shop-06`);
    await row('robot').getByRole('cell', { name: '1', exact: true }).waitFor();
    await patch('/api/v1/namespaces/shop-06/secrets/robot', { data: { two: 'Mg==' } });
    await row('robot').getByRole('cell', { name: '2', exact: true }).waitFor();

    // The page has loaded 500 of 501 rows, without the last one.
    await page.goto(`${service.url}/r/example.com/v1/tools`);
    await row('t007').getByText('new').waitFor();
    await page.getByText('Filter and sort work on the first 500.').waitFor();
    await patch('/apis/example.com/v1/namespaces/shop-06/tools/t500', { spec: { state: 'worn' } });
    await patch('/apis/example.com/v1/namespaces/shop-06/tools/t007', { spec: { state: 'worn' } });
    await row('t007').getByText('worn').waitFor();
    expect(await page.getByText('One change.').count()).to.equal(0);
    await service.admin.apply(aTool('added', 'new'));
    await page.getByText('One change.').waitFor();
    await press(page, 'Load more');
    await page.getByText('501 objects').waitFor();
    await press(page, 'Show');
    await page.getByText('502 objects').waitFor();
    await patch('/apis/example.com/v1/namespaces/shop-06/tools/t008', { spec: { state: 'worn' } });
    await row('t008').getByText('worn').waitFor();
  });

  it('stay live after a scroll during a refresh, and read the rows above again', async () => {
    const at = (name: string) => `/api/v1/namespaces/shop-09/configmaps/${name}`;
    const change = (name: string, tier: string) =>
      service.admin.call(...(['PATCH', at(name), { metadata: { annotations: { 'example.com/tier': tier } } }] as const), {
        'content-type': 'application/merge-patch+json',
      });
    const many = Array.from({ length: 450 }, (_, index) => aConfigMap('shop-09', `c${String(index).padStart(3, '0')}`, 'bronze'));
    await service.admin.apply(...many);
    await page.goto(`${service.url}/r/core/v1/configmaps/ns/shop-09`);
    const tier = (name: string, value: string) =>
      page
        .getByRole('row', { name: new RegExp(`\\b${name}\\b`) })
        .getByText(value)
        .waitFor();
    await tier('c000', 'bronze');
    await service.admin.apply(aConfigMap('shop-09', 'z', 'bronze'));
    await page.getByText('One change.').waitFor();
    const release = Promise.withResolvers<void>();
    const isHeld = Promise.withResolvers<void>();
    await page.route(
      /shop-09\?.*page=1&/,
      async (route) => {
        isHeld.resolve();
        await release.promise;
        // The page has aborted this request.
        await route.continue().catch(() => undefined);
      },
      { times: 1 },
    );
    await press(page, 'Show');
    await isHeld.promise;
    await change('c000', 'gold');
    const scrollTo = (top: number) => page.locator('[data-scroll].table').evaluate((host, to) => host.scrollTo(0, to), top);
    await scrollTo(1_000_000);
    await tier('z', 'bronze');
    release.resolve();
    await change('z', 'silver');
    await tier('z', 'silver');
    await scrollTo(0);
    await tier('c000', 'gold');
  });

  it('delete selected objects', async () => {
    await service.admin.apply(aWidget('shop-02', 'doomed', { size: 1, state: 'old' }));
    await page.goto(`${service.url}/r/example.com/v1/widgets/ns/shop-02?q=doomed`);
    await page.getByLabel('Select doomed').check();
    await press(page, 'Delete');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete one Widget' }).click();
    await page.getByText('No object matches the filter.').waitFor();

    const { status } = await service.admin.call('GET', '/apis/example.com/v1/namespaces/shop-02/widgets/doomed');
    expect(status).to.equal(404);
  });

  it('keep an object that was replaced after it was selected', async () => {
    const path = '/apis/example.com/v1/namespaces/shop-02/widgets/replaced';
    await service.admin.apply(aWidget('shop-02', 'replaced', { size: 1, state: 'old' }));
    await page.goto(`${service.url}/r/example.com/v1/widgets/ns/shop-02?q=replaced`);
    await page.getByLabel('Select replaced').check();
    await press(page, 'Delete');
    await service.admin.call('DELETE', path);
    await service.admin.apply(aWidget('shop-02', 'replaced', { size: 2, state: 'new' }));
    await page.getByRole('dialog').getByRole('button', { name: 'Delete one Widget' }).click();
    await page.getByText('might have been deleted and then recreated').waitFor();

    const { status, body } = await service.admin.call('GET', path);
    expect(status).to.equal(200);
    expect(body).to.nested.include({ 'spec.size': 2 });
    await visitor.complainsOf('status of 409');
    await press(page, 'Done');
  });

  it('show all objects that a user may read, of three namespaces in one list', async () => {
    const other = new Visitor(await browser.newContext({ ignoreHTTPSErrors: true }));
    const tab = await other.openTab();
    await tab.goto(`${service.url}/r/core/v1/configmaps?selector=suite%3Dlists`);
    await press(tab, 'Log in');
    await submitPassword(tab, { email: alice, password });
    await tab.getByRole('status').getByText('12 objects', { exact: true }).waitFor();
    const seen = new Set(await tab.locator('td.c-namespace').allTextContents());

    expect([...seen].sort()).to.deep.equal([...ofAlice]);
    // The list is live for them, too, without objects of other namespaces.
    const [first = ''] = ofAlice;
    await service.admin.apply(aConfigMap('shop-02', 'unseen', 'bronze'), aConfigMap(first, 'm0', 'diamond'));
    await tab.getByRole('cell', { name: 'diamond' }).waitFor();
    expect(await tab.getByText('One change.').count()).to.equal(0);
    await service.admin.apply(aConfigMap(first, 'newcomer', 'bronze'));
    await tab.getByText('One change.').waitFor();
    await press(tab, 'Show');
    await tab.getByRole('link', { name: 'newcomer' }).waitFor();
    await tab.goto(`${service.url}/r/example.com/v1/widgets`);
    await tab.getByText('You may not').first().waitFor();
    // The browser reports the refusal that the page explains.
    for (const complaint of other.complaints) expect(complaint).to.contain('status of 403');
    await other.leave();
  });
});

/** The components of the console in a plugin that uses each of them. */
import { expect } from 'chai';
import type { Request } from 'playwright-core';
import { eventually } from '../../support/cluster-admin.ts';
import { barriers, expectAccessible } from './axe.ts';
import { Visitor } from './chromium.ts';
import { loggedIn } from './demo.ts';
import { pluginsOf } from './plugins.ts';

/** Source of a plugin with a page for each component. */
const code = `
const rows = [
  { name: 'shop', pods: 12, state: 'bad' }, { name: 'blog', pods: 3, state: 'ok' }, { name: 'ci', pods: 20, state: 'warn' },
];
export const plugin = {
  async activate(c) {
    const ui = await c.components();
    const page = (path, mount) => c.page(path, { title: path, mount });
    const columns = [
      { title: 'Namespace', cell: ({ name }) => ({ text: name, ref: { group: '', version: 'v1', resource: 'namespaces', name } }), sortBy: ({ name }) => name },
      { title: 'Pods', isNumber: true, cell: ({ pods }) => pods, sortBy: ({ pods }) => pods },
      { title: 'State', cell: ({ name, state }) => [{ text: state, state }, { text: 'Access', to: '/access' }] },
    ];
    page('table', (host) => {
      const table = ui.table(host, { label: 'Namespaces', columns, rows, idOf: ({ name }) => name, empty: 'No namespace.', isSearchable: true });
      globalThis.update = (changes) => table.update(changes);
    });
    page('long', (host) => {
      const many = Array.from({ length: 450 }, (_, index) => ({ name: 'row-' + index, pods: index, state: 'off' }));
      ui.table(host, { label: 'Rows', columns, rows: many, idOf: ({ name }) => name, empty: '', isSearchable: true });
    });
    page('form', (host) => {
      const fields = [
        { name: 'owner', label: 'Owner', isRequired: true, hint: 'Who pays', suggestions: ['dev', 'ops'] },
        { name: 'months', label: 'Months', type: 'number', value: '1' },
        { name: 'size', label: 'Size', type: 'choice', options: [{ value: 's', label: 'Small' }, { value: 'l', label: 'Large' }], value: 's' },
        { name: 'agreed', label: 'Agreed', type: 'checkbox' },
      ];
      const submit = async (values) => {
        if (values.owner === 'nobody') return { owner: 'No such owner.' };
        if (values.owner === 'broken') throw new Error('The ledger is closed.');
        c.notify('ok', JSON.stringify(values));
      };
      ui.form(host, { fields, action: 'Order', submit, cancel: () => c.navigate('/x/parts/table') });
      ui.form(host, { fields: [fields[0]], action: 'Second', async submit() {} });
    });
    page('chart', (host) => {
      const times = Array.from({ length: 60 }, (_, minute) => new Date(Date.UTC(2026, 0, 1, 12, minute)));
      const lines = [
        { label: 'Used', values: times.map((_, index) => index === 30 ? null : 5 + index % 7) },
        { label: 'Limit', values: times.map(() => 14), colour: 'bad', isDashed: true },
      ];
      ui.chart(host, { title: 'Seats', times, lines, print: (value) => value + ' seats' });
    });
    page('state', (host) => {
      ui.state(host, { is: 'empty', text: 'No seat is taken.' });
      ui.state(host, { is: 'warn', text: 'Two seats are double.' });
      ui.state(host, { is: 'failed', error: new Error('No answer.'), retry: () => c.notify('ok', 'Once more') });
    });
    page('load', (host) => {
      const read = (signal) => {
        globalThis.reading = signal;
        return c.api.items('/api/kubernetes/api/v1/namespaces/shop/configmaps', signal);
      };
      globalThis.loading = ui.load(host, read, (place, items) => {
        globalThis.shown = (globalThis.shown ?? 0) + 1;
        ui.table(place, { label: 'ConfigMaps', columns: [{ title: 'Name', cell: ({ metadata }) => metadata.name }], rows: items, idOf: ({ metadata }) => metadata.uid, empty: 'None.' });
      });
    });
    page('refused', (host) => {
      ui.load(host, () => c.api.json('/api/kubernetes/api/v1/namespaces/shop/secrets'), () => undefined);
    });
    page('foreign', (host) => {
      ui.load(host, () => c.api.json('https://elsewhere.example.com/'), () => undefined);
    });
  },
};`;

describe('components of the console in a plugin', () => {
  const { browser, demo, page } = loggedIn('admin', '/', { users: 5 });
  const { make, isListed } = pluginsOf(demo);

  before(async () => {
    await make({ name: 'parts', code });
    await isListed('parts');
  });
  afterEach(async () => {
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  const open = (path: string) => page.goto(`${demo.url}/x/parts/${path}`);
  const texts = (name: string) => page.getByRole('table', { name }).getByRole('row').locator('td:first-child').allTextContents();

  it('include a table that is sorted, searched and changed', async () => {
    await open('table');
    const table = page.getByRole('table', { name: 'Namespaces' });
    await table.waitFor();
    expect(await texts('Namespaces')).to.deep.equal(['shop', 'blog', 'ci']);
    await expectAccessible(page);
    await page.setViewportSize({ width: 1280, height: 800 });
    await table.getByRole('button', { name: 'Pods' }).click();
    await table.locator('th[aria-sort="ascending"]').waitFor();
    expect(await texts('Namespaces')).to.deep.equal(['blog', 'shop', 'ci']);
    await table.getByRole('button', { name: 'Pods' }).click();
    await table.locator('th[aria-sort="descending"]').waitFor();
    expect(await texts('Namespaces')).to.deep.equal(['ci', 'shop', 'blog']);
    await page.getByRole('searchbox', { name: 'Find on this page' }).fill('WARN');
    await table.getByRole('link', { name: 'blog' }).waitFor({ state: 'detached' });
    expect(await texts('Namespaces')).to.deep.equal(['ci']);
    await page.getByRole('searchbox', { name: 'Find on this page' }).fill('nothing');
    await page.getByText('No entry matches the filter.').waitFor();
    await page.evaluate('update({ rows: [] })');
    await page.getByText('No namespace.').waitFor();
    expect(await page.getByRole('table').count()).to.equal(0);
  });

  it('lead to objects and pages from the cells of a table', async () => {
    await open('table');
    await page.getByRole('row').filter({ hasText: 'blog' }).getByRole('link', { name: 'Access' }).click();
    await page.waitForURL(/\/access$/);
    await page.goBack();
    await page.getByRole('link', { name: 'shop', exact: true }).click();
    await page.waitForURL(/\/r\/core\/v1\/namespaces\/shop$/);
    await page.getByRole('heading', { name: 'shop' }).waitFor();
  });

  it('show a long table in parts', async () => {
    await open('long');
    await page.getByText('The first 200 of 450 are shown.').waitFor();
    expect(await page.getByRole('row').count()).to.equal(201);
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.getByText('The first 400 of 450 are shown.').waitFor();
    await page.getByRole('searchbox').fill('row-449');
    await page.getByRole('link', { name: 'row-449' }).waitFor();
    expect(await page.getByRole('row').count()).to.equal(2);
  });

  it('include a form with failures at its fields', async () => {
    await open('form');
    const owner = page.getByRole('combobox', { name: 'Owner' }).first();
    await owner.fill('nobody');
    await page.getByRole('button', { name: 'Order' }).click();
    await page.getByText('No such owner.').waitFor();
    expect(await owner.getAttribute('aria-invalid')).to.equal('true');
    await owner.fill('broken');
    await page.getByRole('button', { name: 'Order' }).click();
    await page.getByRole('alert').filter({ hasText: 'The ledger is closed.' }).waitFor();
    await owner.fill('dev');
    await page.getByLabel('Size').selectOption('Large');
    await page.getByLabel('Agreed').check();
    await page.getByRole('button', { name: 'Order' }).click();
    await page.getByText('{"owner":"dev","months":"1","size":"l","agreed":"true"}').waitFor();
    await page.getByRole('combobox', { name: 'Owner' }).nth(1).fill('ops');
    expect(await owner.inputValue()).to.equal('dev');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.waitForURL(/parts\/table$/);
  });

  it('include a chart with a table of the same figures', async () => {
    await open('chart');
    await page.getByRole('img', { name: 'Seats, Used: 8 seats, Limit: 14 seats' }).locator('canvas').waitFor();
    await page.getByText('Figures as a table').click();
    await page.getByRole('cell', { name: '14 seats' }).first().waitFor();
    expect(await page.getByRole('row').count()).to.equal(61);
    expect(await page.getByRole('cell', { name: '–', exact: true }).count()).to.equal(1);
    await expectAccessible(page);
  });

  it('include states and messages', async () => {
    await open('state');
    await page.getByText('No seat is taken.').waitFor();
    await page.getByText('Two seats are double.').waitFor();
    await page.getByRole('alert').filter({ hasText: 'No answer.' }).getByRole('button', { name: 'Try again' }).click();
    await page.getByText('Once more').waitFor();
    await expectAccessible(page);
  });

  it('load a value, and read it again after an action of a plugin and on demand', async () => {
    await open('load');
    await page.getByRole('table', { name: 'ConfigMaps' }).waitFor();
    const before = Number(await page.evaluate('shown'));
    await page.evaluate('loading.reload()');
    expect(await page.evaluate('shown')).to.equal(before + 1);
    expect(await page.getByRole('table', { name: 'ConfigMaps' }).count()).to.equal(1);
    await expectAccessible(page);
  });

  it('end with their place: a load sends nothing more, and its signal is aborted', async () => {
    const sent: string[] = [];
    const note = (request: Request) => sent.push(new URL(request.url()).pathname);
    await open('load');
    await page.getByRole('table', { name: 'ConfigMaps' }).waitFor();
    expect(await page.evaluate('reading.aborted')).to.equal(false);
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Users', exact: true }).click();
    await page.getByRole('heading', { name: 'Users' }).waitFor();
    await eventually(
      () => page.evaluate('reading.aborted'),
      (isAborted) => isAborted === true,
    );
    page.on('request', note);
    await page.evaluate('loading.reload()');
    page.off('request', note);
    expect(sent.filter((path) => path.endsWith('/configmaps'))).to.deep.equal([]);
  });

  it('speak the language of the console', async () => {
    await open('long');
    await page.getByText('The first 200').waitFor();
    await page.getByRole('button', { name: 'Language' }).click();
    await page.getByRole('menuitemradio', { name: 'Deutsch' }).click();
    await page.getByRole('searchbox', { name: 'Auf dieser Seite suchen' }).waitFor();
    await page.getByRole('button', { name: 'Sprache' }).click();
    await page.getByRole('menuitemradio', { name: 'English' }).click();
    await page.getByText('The first 200').waitFor();
  });

  it('name the missing right, and the way to ask for it', async () => {
    const other = new Visitor(await browser.newContext());
    const tab = await other.openTab();
    await demo.logIn(tab, 'viewer', '/x/parts/refused');
    await tab.getByText('You may not see this.').waitFor();
    await tab.getByRole('link', { name: 'See what you may do' }).waitFor();
    expect(await barriers(tab)).to.deep.equal([]);
    await other.leave();
  });

  it('send no request to another host', async () => {
    await open('foreign');
    await page.getByRole('alert').filter({ hasText: 'is no path of this service' }).waitFor();
  });

  it('add nothing to the first page', async () => {
    const requests: string[] = [];
    page.on('request', (request) => requests.push(new URL(request.url()).pathname));
    await page.goto(`${demo.url}/?plugins=off`);
    await page.getByText('Your identity').waitFor();
    await page.waitForLoadState('networkidle');
    expect(requests.filter((path) => /assets\/(components|run|chart)-/.test(path))).to.deep.equal([]);
    await open('table');
    await page.getByRole('table').waitFor();
    expect(requests.filter((path) => /assets\/components-/.test(path))).to.have.length(1);
  });
});

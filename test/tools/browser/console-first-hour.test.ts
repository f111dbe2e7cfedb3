/** The first hour with the console: a user with a role in one namespace is created and logs in, and pages offer by rights. */
import { expect } from 'chai';
import { z } from 'zod';
import { eventually } from '../../support/cluster-admin.ts';
import { barriers } from './axe.ts';
import { Visitor } from './chromium.ts';
import { countClicks } from './clicks.ts';
import { chooseNewPassword, clickBeneath, type Demo, isLoggedIn, loggedIn, press, submitPassword } from './demo.ts';

/** Minimum of clicks for the story. A page that needs another click fails the test. */
const mostClicks = { administrator: 6, newcomer: 6 };

const deployment = z.object({ spec: z.object({ replicas: z.number() }) });
const users = z.object({ items: z.array(z.object({ metadata: z.object({ name: z.string() }), spec: z.object({ email: z.string() }) })) });

const fromDemo = (demo: Demo, path: string, init: RequestInit = {}) =>
  fetch(`${demo.url}${path}`, {
    ...init,
    headers: { authorization: `Bearer ${demo.person('admin').token}`, 'content-type': 'application/json' },
  });

describe('the first hour with the console', () => {
  const { browser, demo, page } = loggedIn('admin', '/', { users: 2 });

  it('creates a user with edit in one namespace and a group, who scales there and reads no Secret elsewhere', async () => {
    const clicks = await countClicks(page);
    await page.getByRole('link', { name: 'Users', exact: true }).click();
    await page.getByRole('link', { name: 'New user' }).click();
    await page.getByRole('heading', { name: 'New user' }).waitFor();
    await page.getByLabel('E-mail').fill('story@example.com');
    const password = await page.getByLabel('Password', { exact: true }).inputValue();
    await page.getByLabel('Developers (dev)').check();
    await page.getByRole('combobox', { name: 'Role' }).fill('edit');
    await page.getByRole('combobox', { name: 'Role' }).press('Escape');
    await page.getByLabel('One or more namespaces').check();
    await page.getByLabel('shop', { exact: true }).check();
    await press(page, 'Create the user');
    await page.locator('.steps .ok', { hasText: 'Role edit' }).waitFor();
    const done = await page.locator('.steps .ok').allTextContents();
    expect(done).to.deep.equal(['User story@example.com', 'Member of the group dev', 'Role edit']);
    // The tick means that the RoleBinding exists, so no retry is needed.
    const bindings = '/api/kubernetes/apis/rbac.authorization.k8s.io/v1/namespaces/shop/rolebindings';
    expect(await (await fromDemo(demo, bindings)).text()).to.contain('"name":"story@example.com"');
    expect(clicks()).to.equal(mostClicks.administrator);

    const newcomer = new Visitor(await browser.newContext());
    const own = await newcomer.openTab();
    const clicksOfNewcomer = await countClicks(own);
    await own.goto(demo.url);
    await press(own, 'Log in');
    await submitPassword(own, { email: 'story@example.com', password });
    await chooseNewPassword(own, 'a passphrase of my own');
    await isLoggedIn(own, 'story@example.com');
    await own.getByRole('link', { name: 'Pods', exact: true }).click();
    await own
      .getByRole('link', { name: /^storefront-/ })
      .first()
      .waitFor();
    await own.getByRole('link', { name: 'Deployments', exact: true }).click();
    await own.getByRole('link', { name: 'storefront', exact: true }).click();
    await own.getByRole('heading', { name: 'storefront' }).waitFor();
    await press(own, 'Scale');
    await own.getByLabel('Replicas').fill('4');
    await press(own, 'Scale to 4');
    const scaled = async () =>
      deployment.parse(await (await fromDemo(demo, '/api/kubernetes/apis/apps/v1/namespaces/shop/deployments/storefront')).json());
    await eventually(scaled, ({ spec }) => spec.replicas === 4);
    expect(clicksOfNewcomer()).to.equal(mostClicks.newcomer);

    await own.goto(`${demo.url}/r/core/v1/secrets/ns/payments`);
    await own.getByText('list secrets -n payments').waitFor();
    const refused = await own.evaluate("fetch('/api/kubernetes/api/v1/namespaces/payments/secrets').then(({ status }) => status)");
    expect(refused).to.equal(403);
    await newcomer.complainsOf('status of 403');
    expect(await barriers(own)).to.deep.equal([]);
    await newcomer.leave();
  });

  it('N27 greys Switch off for a user without the right, and gives the reason', async () => {
    const other = new Visitor(await browser.newContext());
    const tab = await other.openTab();
    await demo.logIn(tab, 'nobody', '/extensions');
    // The button is greyed without a dialog until the rights are known.
    await clickBeneath(tab.locator('button[aria-disabled="true"][aria-haspopup="dialog"]', { hasText: 'Switch off' }));
    await tab.getByRole('dialog').getByText('patch consoleplugins.console.platform.io').waitFor();
    expect(await barriers(tab)).to.deep.equal([]);
    await tab.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    await tab.getByRole('link', { name: 'Open this page without plugins' }).click();
    await tab.waitForURL(/\?plugins=off$/);
    expect(other.complaints).to.deep.equal([]);
    await other.leave();
  });

  it('N28 gives the reasons of a disabled user and of a pending binding once and in words', async () => {
    const { items } = users.parse(await (await fromDemo(demo, '/auth/v2/users?search=olaf')).json());
    await page.goto(`${demo.url}/users/${items[0]?.metadata.name}`);
    const account = page.getByRole('region', { name: 'Account' });
    await account.getByText('by hand').waitFor();
    const text = (await page.locator('.cards').textContent()) ?? '';
    expect(text.match(/by hand/g)).to.have.length(1);
    expect(text).not.to.match(/Ready|Enabled|ByHand/);

    const spec = {
      subjects: [{ kind: 'User', name: 'jane@example.com' }],
      roleRef: 'view',
      scope: 'namespace',
      constraint: [{ namespace: 'nowhere' }],
    };
    const body = JSON.stringify({ metadata: { name: 'waits' }, spec });
    expect((await fromDemo(demo, '/auth/v2/userbindings', { method: 'POST', body })).status).to.equal(201);
    await page.goto(`${demo.url}/bindings/waits`);
    await page.getByText('namespaces that do not exist yet: nowhere').first().waitFor();
    expect(await page.getByText('namespaces that do not exist yet: nowhere').count()).to.equal(1);
    expect(await barriers(page)).to.deep.equal([]);
  });

  it('N29 separates the pages of plugins from the pages about users', async () => {
    await page.getByRole('link', { name: 'Cost report' }).waitFor();
    const section = (name: string) => page.locator('nav.side > div', { has: page.locator('p', { hasText: name }) });
    expect(await section('People').getByRole('link').allTextContents()).to.deep.equal(['Users', 'Groups', 'Bindings']);
    expect(await section('Plugins').getByRole('link').allTextContents()).to.deep.equal(['Cost report']);
  });

  it('names up to two groups of a user in the list, and counts more with their names in the title', async () => {
    await page.route(/\/auth\/v2\/users\?(?!.*watch)/, async (route) => {
      const response = await route.fetch();
      const list = (await response.json()) as { items: { spec: { email: string }; status: { groups: string[] } }[] };
      for (const { spec, status } of list.items) if (spec.email === 'nobody@example.com') status.groups = ['audit', 'dev', 'oncall'];
      await route.fulfill({ response, json: list });
    });
    await page.goto(`${demo.url}/users`);
    const nobody = page.getByRole('row').filter({ hasText: 'nobody@example.com' });
    await nobody.getByText('3 groups').waitFor();
    expect(await nobody.getByText('3 groups').getAttribute('title')).to.equal('audit, dev, oncall');
    await page.getByRole('row').filter({ hasText: 'admin@example.com' }).getByText('platform').waitFor();
    await page.unrouteAll();
  });
});

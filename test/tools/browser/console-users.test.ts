/** Users on the console, as a manager of users, and as users without those rights. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { eventually } from '../../support/cluster-admin.ts';
import { barriers } from './axe.ts';
import { Visitor } from './chromium.ts';
import { chooseNewPassword, clickBeneath, greyed, isLoggedIn, loggedIn, press, submitPassword } from './demo.ts';
import { hold, loseFirstAnswer, tryToClose } from './traffic.ts';

interface Stored {
  spec: Record<string, unknown>;
  status: Record<string, unknown>;
  metadata: { name: string };
}

const valueAt = (object: object, path: string): unknown => path.split('.').reduce<unknown>((value, name) => Object(value)[name], object);

describe('the part of the console for users', () => {
  const { browser, demo, visitor, page } = loggedIn('manager', '/users', { users: 30 });
  // The controller may write the status of a user meanwhile. The page repeats its change then.
  before(() => {
    visitor.accepted = /status of 409 .*\/auth\/v1\/users\/\w+$/;
  });

  const link = (name: string) => page.getByRole('link', { name, exact: true });
  const dialog = () => page.getByRole('dialog');

  /** Reads a user with the manager's token, without the console. */
  async function stored(email: string): Promise<Stored | undefined> {
    const headers = { authorization: `Bearer ${demo.person('manager').token}` };
    const answer = await fetch(`${demo.url}/auth/v2/users?search=${encodeURIComponent(email)}`, { headers });
    return ((await answer.json()) as { items: Stored[] }).items[0];
  }

  /** Waits until the service, which lists users from its watch, has these values. */
  const isStored = (email: string, values: Readonly<Record<string, unknown>>) =>
    eventually(
      () => stored(email),
      (user) => user !== undefined && Object.entries(values).every(([path, value]) => valueAt(user, path) === value),
    );

  const isDeleted = (email: string) =>
    eventually(
      () => stored(email),
      (user) => user === undefined,
    );

  it('creates a user without the characters that were pasted around the texts', async () => {
    await page.goto(`${demo.url}/users/new`);
    await page.getByLabel('E-mail').fill('\u202apasted@example.com\u202c\u00a0');
    await page.getByLabel('Name').fill('\ufeff Jane Pasted\u200b ');
    await press(page, 'Create the user');
    await page.getByText('Hand over the password now').waitFor();
    await isStored('pasted@example.com', { 'spec.username': 'Jane Pasted' });
  });

  it('creates no user after a cancel during the dry run', async () => {
    await page.goto(`${demo.url}/users/new`);
    await page.getByLabel('E-mail').fill('cancelled@example.com');
    const dryRun = await hold(page, 'POST', /\/auth\/v1\/users\?dryRun=All$/);
    await press(page, 'Create the user');
    await dryRun.begun;
    page.once('dialog', (asked) => void asked.accept());
    await press(page, 'Cancel');
    await page.getByRole('heading', { name: 'Users' }).waitFor();
    await dryRun.release();

    await page.getByRole('link', { name: 'New user' }).click();
    await page.getByRole('heading', { name: 'New user' }).waitFor();
    await page.getByLabel('E-mail').fill('other@example.com');
    await press(page, 'Create the user');
    await page.getByText('Hand over the password now').waitFor();
    await isStored('other@example.com', {});
    expect(await stored('cancelled@example.com')).to.equal(undefined);
  });

  it('asks before the page is left while the user is created', async () => {
    await page.goto(`${demo.url}/users/new`);
    await page.getByLabel('E-mail').fill('kept@example.com');
    const creation = await hold(page, 'POST', /\/auth\/v1\/users$/);
    await press(page, 'Create the user');
    await creation.begun;
    const asked = page.waitForEvent('dialog');
    const leaving = page.locator('.crumb a').click();
    await (await asked).dismiss();
    await leaving;
    await creation.release();
    await page.getByText('Hand over the password now').waitFor();
  });

  it('shows errors at their fields, and keeps the typed text', async () => {
    await page.goto(`${demo.url}/users`);
    await page.getByRole('link', { name: 'New user' }).click();
    // The search of the previous list also has `E-mail` in its name.
    await page.getByRole('heading', { name: 'New user' }).waitFor();
    await page.getByLabel('E-mail').fill('new.user@example.com');
    await page.getByLabel('Password', { exact: true }).fill('short');
    // The browser reports refusals like all failed requests.
    await press(page, 'Create the user');
    await page.locator('.wrong').first().waitFor();

    expect(await page.getByLabel('Password', { exact: true }).getAttribute('aria-invalid')).to.equal('true');
    expect(await page.getByLabel('E-mail').inputValue()).to.equal('new.user@example.com');
    expect(await barriers(page)).to.deep.equal([]);
    await visitor.complainsOf('status of 422');
    expect(await stored('new.user@example.com')).to.equal(undefined);
  });

  it('N15 creates a user, who has to choose a new password at the first login', async () => {
    // Members of a group get its rights: adding one requires the right to impersonate the group.
    expect(await page.getByLabel('Developers (dev)').count()).to.equal(0);
    await page.getByLabel('Password', { exact: true }).fill('a long enough passphrase');
    await page.getByLabel('Name', { exact: true }).fill('Nele New');
    expect(await page.getByLabel('Must be changed at the first login').isChecked()).to.equal(true);
    await press(page, 'Create the user');
    await page.getByText('Hand over the password now').waitFor();
    await isStored('new.user@example.com', { 'status.mustChangePassword': true });
    const newcomer = await (await browser.newContext()).newPage();
    await newcomer.goto(demo.url);
    await press(newcomer, 'Log in');
    await submitPassword(newcomer, { email: 'new.user@example.com', password: 'a long enough passphrase' });
    await chooseNewPassword(newcomer, 'a passphrase of my own');
    await isLoggedIn(newcomer, 'new.user@example.com');
    await newcomer.context().close();
    await isStored('new.user@example.com', { 'status.mustChangePassword': false });
    await page.getByRole('link', { name: 'Open the user' }).click();
    await page.getByRole('heading', { name: 'Nele New' }).waitFor();
    await isStored('new.user@example.com', { 'spec.username': 'Nele New' });
  });

  it('N15 creates a user with a one-time link in place of a password to hand over', async () => {
    const other = new Visitor(await browser.newContext());
    const tab = await other.openTab();
    await demo.logIn(tab, 'manager', '/users/new');
    await tab.getByLabel('E-mail').fill('invited@example.com');
    await tab.getByLabel('With a one-time link').check();
    expect(await tab.getByLabel('Password', { exact: true }).count()).to.equal(0);
    expect(await barriers(tab)).to.deep.equal([]);
    await press(tab, 'Create the user');
    await tab.locator('.steps .ok', { hasText: 'One-time link for invited@example.com' }).waitFor();
    const link = (await tab.locator('pre').textContent()) ?? '';
    expect(link).to.match(/^http:\/\/\S+\/identity\/link\/\S+$/);
    expect(await tab.getByText('Hand over the password now').count()).to.equal(0);
    expect(await barriers(tab)).to.deep.equal([]);
    expect(other.complaints).to.deep.equal([]);
    await other.leave();
    const newcomer = new Visitor(await browser.newContext());
    const own = await newcomer.openTab();
    await own.goto(link);
    await own.getByRole('heading', { name: 'Welcome' }).waitFor();
    await own.locator('#new_password').fill('a passphrase of my own');
    await own.locator('#new_password_again').fill('a passphrase of my own');
    await press(own, 'Set password');
    await own.getByRole('heading', { name: 'Your password is set' }).waitFor();
    await own.goto(demo.url);
    await press(own, 'Log in');
    await submitPassword(own, { email: 'invited@example.com', password: 'a passphrase of my own' });
    await isLoggedIn(own, 'invited@example.com');
    expect(newcomer.complaints).to.deep.equal([]);
    await newcomer.leave();
  });

  it('creates a user with group and role at once, for an administrator', async () => {
    const other = new Visitor(await browser.newContext());
    const tab = await other.openTab();
    await demo.logIn(tab, 'admin', '/users/new');
    await tab.getByLabel('E-mail').fill('dev.new@example.com');
    await tab.getByLabel('Developers (dev)').check();
    await tab.getByLabel('Role', { exact: true }).fill('view');
    await tab.getByLabel('Role', { exact: true }).press('Escape');
    await tab.getByLabel('The whole cluster').check();
    await press(tab, 'Create the user');
    await tab.locator('.steps .ok', { hasText: 'Role view' }).waitFor();
    expect(await tab.locator('.steps').textContent())
      .to.contain('User dev.new@example.com')
      .and.to.contain('Member of the group dev');
    // The page sends one request, and users have a role once the controller has created its RoleBinding.
    const { metadata } = (await isStored('dev.new@example.com', {})) ?? { metadata: { name: '' } };
    const headers = { authorization: `Bearer ${demo.person('admin').token}` };
    const roles = async () =>
      ((await (await fetch(`${demo.url}/auth/v1/usersroles?name=${metadata.name}`, { headers })).json()) as { items: { role: string }[] })
        .items;
    await eventually(roles, (items) => items.some(({ role }) => role === 'view'));
    await tab.getByRole('link', { name: 'Open the user' }).click();
    const group = tab.locator('.facts').getByRole('link', { name: 'dev', exact: true });
    await group.waitFor();
    expect(await group.getAttribute('href')).to.match(/\/groups\/dev$/);
    expect(await tab.locator('.facts .chip', { has: tab.getByRole('link', { name: 'dev', exact: true }) }).textContent()).to.equal(
      'dev Local',
    );
    expect(await barriers(tab)).to.deep.equal([]);
    await tab.getByRole('link', { name: 'Roles' }).click();
    await tab.getByRole('cell', { name: 'view', exact: true }).first().waitFor();

    expect(other.complaints).to.deep.equal([]);
    await other.leave();
  });

  it('N1 binds edit in one namespace, ticks it once the cluster has it, and greys roles that cannot be bound', async () => {
    const other = new Visitor(await browser.newContext());
    const tab = await other.openTab();
    await demo.logIn(tab, 'admin', '/users/new');
    await tab.getByLabel('E-mail').fill('editor@example.com');
    await tab.getByLabel('Password', { exact: true }).fill('a long enough passphrase');
    await tab.getByLabel('Must be changed at the first login').uncheck();
    const role = tab.getByRole('combobox', { name: 'Role' });
    await role.fill('cluster-admin');
    const refused = tab.getByRole('option', { name: /^cluster-admin/ });
    await refused.getByText("Atrium's service account may not bind this role.").waitFor();
    expect(await refused.getAttribute('aria-disabled')).to.equal('true');
    expect(await barriers(tab)).to.deep.equal([]);
    await role.press('Escape');
    await tab.getByLabel('The whole cluster').check();
    await press(tab, 'Create the user');
    await tab.locator('.field', { hasText: 'Role' }).getByText('Unsupported value: "cluster-admin"').waitFor();
    await other.complainsOf('status of 422');
    expect(await stored('editor@example.com')).to.equal(undefined);
    await role.fill('edit');
    await role.press('Escape');
    await tab.getByText('edit in the whole cluster applies to all namespaces').waitFor();
    await tab.getByLabel('One or more namespaces').check();
    await press(tab, 'Create the user');
    await tab.getByText('Choose at least one namespace.').waitFor();
    await tab.getByLabel('default', { exact: true }).check();
    await press(tab, 'Create the user');
    await tab.locator('.steps .ok', { hasText: 'Role edit' }).waitFor();
    // The tick means that the RoleBinding exists, so no retry is needed.
    const headers = { authorization: `Bearer ${demo.person('admin').token}` };
    const path = '/api/kubernetes/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings';
    expect(await (await fetch(`${demo.url}${path}`, { headers })).text()).to.contain('"name":"editor@example.com"');
    expect(await barriers(tab)).to.deep.equal([]);
    await other.leave();
    const newcomer = new Visitor(await browser.newContext());
    const own = await newcomer.openTab();
    await own.goto(`${demo.url}/access`);
    await press(own, 'Log in');
    await submitPassword(own, { email: 'editor@example.com', password: 'a long enough passphrase' });
    await own.getByLabel('Do what').selectOption('delete');
    await own.getByRole('combobox', { name: 'Namespace' }).fill('default');
    await press(own, 'Ask the cluster');
    await own.getByText('Yes, editor@example.com may.').waitFor();
    expect(newcomer.complaints).to.deep.equal([]);
    await newcomer.leave();
  });

  async function createViewer(tab: Page, email: string): Promise<void> {
    await tab.getByLabel('E-mail').fill(email);
    await tab.getByRole('combobox', { name: 'Role' }).fill('view');
    await tab.getByRole('combobox', { name: 'Role' }).press('Escape');
    await tab.getByLabel('The whole cluster').check();
    await press(tab, 'Create the user');
  }

  it('N1 shows the reason of a failed binding, without a tick, and leads to it', async () => {
    const other = new Visitor(await browser.newContext());
    const tab = await other.openTab();
    await demo.logIn(tab, 'admin', '/users/new');
    const status = { phase: 'Failed', conditions: [{ type: 'Ready', status: 'False', message: 'the role was taken away' }] };
    await tab.route(/\/auth\/v2\/userbindings\/view-/, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ json: { ...((await response.json()) as object), status } });
    });
    await createViewer(tab, 'unlucky@example.com');
    await tab.getByText('the role was taken away').waitFor();
    expect(await tab.locator('.steps .ok').allTextContents()).to.deep.equal(['User unlucky@example.com']);
    expect(await tab.getByRole('link', { name: 'Open the binding' }).getAttribute('href')).to.match(/\/bindings\/view-/);
    await tab.unrouteAll();
    await press(tab, 'Try again');
    await tab.locator('.steps .ok', { hasText: 'Role view' }).waitFor();
    expect(await barriers(tab)).to.deep.equal([]);
    expect(other.complaints).to.deep.equal([]);
    await other.leave();
  });

  it('binds the role once if the answer to the first attempt was lost', async () => {
    const other = new Visitor(await browser.newContext());
    const tab = await other.openTab();
    await demo.logIn(tab, 'admin', '/users/new');
    await loseFirstAnswer(tab, 'POST', /\/auth\/v2\/userbindings$/);
    await createViewer(tab, 'once@example.com');
    await tab.getByText('the answer was lost').waitFor();
    await press(tab, 'Try again');
    await tab.locator('.steps .ok', { hasText: 'Role view' }).waitFor();

    const headers = { authorization: `Bearer ${demo.person('admin').token}` };
    const answer = await fetch(`${demo.url}/api/kubernetes/apis/auth.platform.io/v1/userbindings`, { headers });
    const { items } = (await answer.json()) as { items: { spec: { subjects: { name: string }[] } }[] };
    const { metadata } = (await stored('once@example.com')) ?? {};
    expect(items.filter(({ spec }) => spec.subjects[0]?.name === metadata?.name)).to.have.lengthOf(1);
    await other.complainsOf('status of 504');
    await other.complainsOf('status of 409');
    await other.leave();
  });

  it('disables and enables, and the state follows', async () => {
    const act = async (name: string) => {
      await page.getByRole('button', { name: 'More actions' }).click();
      await page.getByRole('menuitem', { name, exact: true }).click();
    };
    await act('Disable');
    await dialog().getByText('Sessions and tokens end at once.').waitFor();
    expect(await barriers(page)).to.deep.equal([]);
    await isStored('new.user@example.com', { 'spec.is_disabled': false });
    await dialog().getByRole('button', { name: 'Disable Nele New' }).click();
    await page.locator('.page-head .phase', { hasText: 'Disabled' }).waitFor();
    await isStored('new.user@example.com', { 'spec.is_disabled': true });
    await press(page, 'Undo');
    await page.locator('.page-head .phase', { hasText: 'Active' }).waitFor();
    await isStored('new.user@example.com', { 'spec.is_disabled': false });
    await act('Disable');
    await dialog().getByRole('button', { name: 'Disable Nele New' }).click();
    await page.locator('.page-head .phase', { hasText: 'Disabled' }).waitFor();
    await act('Enable');
    await page.locator('.page-head .phase', { hasText: 'Active' }).waitFor();
  });

  it('edits a name', async () => {
    await press(page, 'Edit');
    await dialog().getByLabel('Name', { exact: true }).fill('Nele Newer');
    await dialog().getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'Nele Newer' }).waitFor();

    await isStored('new.user@example.com', { 'spec.username': 'Nele Newer' });
  });

  it('resets a password and shows it once, and stays open until then', async () => {
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Reset password' }).click();
    const password = await dialog().getByLabel('Password', { exact: true }).inputValue();
    expect(password).to.match(/^(\w{5}-){3}\w{5}$/);
    const change = await hold(page, 'PATCH', /\/auth\/v1\/users\/[^/]+$/);
    await dialog().getByRole('button', { name: 'Reset password' }).click();
    await change.begun;
    await tryToClose(page);
    await change.release();
    await dialog().getByText('The password is set.').waitFor();

    expect(await dialog().locator('pre').textContent()).to.equal(password);
    expect(await barriers(page)).to.deep.equal([]);
    await dialog().getByRole('button', { name: 'Done' }).click();
  });

  it('deletes a user only after the address was typed', async () => {
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    const button = dialog().getByRole('button', { name: 'Delete Nele Newer' });
    expect(await button.getAttribute('aria-disabled')).to.equal('true');
    await dialog().getByRole('textbox').fill('new.user@example.com');
    await button.click();
    await link('Ada Admin').waitFor();

    expect(page.url()).to.equal(`${demo.url}/users`);
    await isDeleted('new.user@example.com');
  });

  it('searches, filters and sorts, and keeps the state in the address', async () => {
    await page.getByLabel('Search by name or e-mail').fill('person0');
    await link('Person 001').waitFor();
    await link('Ada Admin').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'E-mail' }).click();
    await page.getByRole('button', { name: 'E-mail' }).click();
    await page.locator('tbody tr').first().getByText('Person 030').waitFor();

    expect(page.url()).to.equal(`${demo.url}/users?q=person0&sort=-email`);
    await page.reload();
    await page.locator('tbody tr').first().getByText('Person 030').waitFor();
    await link('Person 030').click();
    await page.getByRole('heading', { name: 'Person 030' }).waitFor();
    await page.goBack();
    await page.locator('tbody tr').first().getByText('Person 030').waitFor();
    expect(await page.getByLabel('Search by name or e-mail').inputValue()).to.equal('person0');
  });

  it('deletes several at once, and names them', async () => {
    await page.goto(`${demo.url}/users?q=person00`);
    await page.getByLabel('Select Person 001').check();
    await page.getByLabel('Select Person 002').check();
    await page.getByRole('region', { name: '2 selected' }).getByRole('button', { name: 'Delete' }).click();
    expect(await dialog().textContent())
      .to.contain('Person 001')
      .and.to.contain('Person 002');
    await dialog().getByRole('button', { name: 'Delete 2 users' }).click();
    await dialog().getByText('Done for 2 users.').waitFor();
    await dialog().getByRole('button', { name: 'Done' }).click();
    await link('Person 001').waitFor({ state: 'detached' });

    await isDeleted('person001@example.com');
    expect(await stored('person003@example.com')).not.to.equal(undefined);
  });

  it('shows changes in place, and holds back new users', async () => {
    await page.goto(`${demo.url}/users?q=live`);
    await page.getByText('No entry matches the filter.').waitFor();
    const headers = { authorization: `Bearer ${demo.person('manager').token}`, 'content-type': 'application/json' };
    const spec = { email: 'live@example.com', username: 'Livia Live', password: 'a long enough passphrase' };
    const answer = await fetch(`${demo.url}/auth/v1/users`, { method: 'POST', headers, body: JSON.stringify({ spec }) });
    expect(answer.status).to.equal(201);
    await page.getByRole('button', { name: 'Show' }).click();
    await link('Livia Live').waitFor();
    const { name } = ((await answer.json()) as { metadata: { name: string } }).metadata;
    await fetch(`${demo.url}/auth/v1/users/${name}`, { method: 'PATCH', headers, body: '{"spec":{"username":"Livia Later"}}' });
    await link('Livia Later').waitFor();
  });

  it('greys forbidden actions for a viewer, with the reason', async () => {
    const other = new Visitor(await browser.newContext());
    const tab = await other.openTab();
    await demo.logIn(tab, 'viewer', '/users?q=jane');
    await tab.getByRole('link', { name: 'Jane Doe', exact: true }).waitFor();
    expect(await tab.getByRole('link', { name: 'New user' }).count()).to.equal(0);
    expect(await tab.getByRole('checkbox').count()).to.equal(0);
    await tab.getByRole('link', { name: 'Jane Doe', exact: true }).click();
    // The previous list has such a menu, too.
    await tab.getByRole('heading', { name: 'Jane Doe' }).waitFor();
    await tab.getByRole('button', { name: 'More actions' }).click();
    await clickBeneath(greyed(tab, 'Delete'));
    await tab.getByRole('dialog').getByText('delete users.auth.platform.io').waitFor();

    expect(await barriers(tab)).to.deep.equal([]);
    expect(other.complaints).to.deep.equal([]);
    await other.leave();
  });
});

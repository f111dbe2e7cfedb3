/** Groups, bindings, and the users' own tokens, sessions and kubeconfigs. */
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { barriers } from './axe.ts';
import { Visitor } from './chromium.ts';
import { clickBeneath, loggedIn, press } from './demo.ts';
import { hold, loseFirstAnswer, tryToClose } from './traffic.ts';

describe('access on the console', () => {
  const { browser, demo, page, visitor } = loggedIn('admin', '/groups', { users: 10 });
  // The controller of a binding may write its status at any time. The page retries its write then.
  before(() => {
    visitor.accepted = /status of 409 .*\/userbindings\/view-/;
  });

  const dialog = () => page.getByRole('dialog');
  const asked = async (role: string, path: string): Promise<unknown> => {
    const headers = { authorization: `Bearer ${demo.person(role).token}` };
    return (await fetch(`${demo.url}${path}`, { headers })).json();
  };

  it('creates a group, and adds a member', async () => {
    await press(page, 'New group');
    await dialog().getByLabel('Name', { exact: true }).fill('night-shift');
    await dialog().getByLabel('Display name').fill('Night shift');
    await dialog().getByRole('button', { name: 'Create the group' }).click();
    await page.getByRole('heading', { name: 'Night shift' }).waitFor();
    await page.getByText('The group has no members.').waitFor();
    await press(page, 'Add a member');
    await dialog().getByRole('combobox', { name: 'E-mail' }).fill('nobody@example.com');
    await dialog().getByRole('button', { name: 'Add a member' }).click();
    await page.getByRole('link', { name: 'nobody@example.com' }).waitFor();

    const group = (await asked('admin', '/auth/v1/groups/night-shift')) as { spec: { users: object[] } };
    expect(group.spec.users).to.have.lengthOf(1);
  });

  it('creates one binding if the answer to the first attempt was lost', async () => {
    await page.goto(`${demo.url}/bindings/new`);
    await loseFirstAnswer(page, 'POST', /\/auth\/v2\/userbindings$/);
    await page.getByLabel('A group').check();
    await page.getByLabel('Group', { exact: true }).fill('local:once');
    await page.getByLabel('Role', { exact: true }).fill('view');
    await page.getByLabel('Role', { exact: true }).press('Escape');
    await page.getByLabel('The whole cluster').check();
    await press(page, 'Create the binding');
    await page.getByText('the answer was lost').waitFor();
    await press(page, 'Create the binding');
    await page.getByRole('heading', { name: 'Binding of view' }).waitFor();
    await visitor.complainsOf('status of 504');
    await visitor.complainsOf('status of 409');
    await page.unrouteAll();

    const { items } = (await asked('admin', '/api/kubernetes/apis/auth.platform.io/v1/userbindings')) as {
      items: { spec: { subjects: { name: string }[] } }[];
    };
    expect(items.filter(({ spec }) => spec.subjects[0]?.name === 'local:once')).to.have.lengthOf(1);
  });

  it('binds a role to the group in one namespace, which grants its member the rights', async () => {
    await page.goto(`${demo.url}/bindings`);
    await page.getByRole('link', { name: 'New binding' }).click();
    await page.getByLabel('A group').check();
    await page.getByLabel('Group', { exact: true }).fill('local:night-shift');
    await page.getByLabel('Role', { exact: true }).fill('view');
    await page.getByLabel('Role', { exact: true }).press('Escape');
    await page.locator('.rules').waitFor();
    await page.getByLabel('One or more namespaces').check();
    await page.getByLabel('default', { exact: true }).check();
    await page.getByText('local:night-shift gets view: default.').waitFor();
    await press(page, 'Create the binding');
    await page.getByRole('heading', { name: 'Binding of view' }).waitFor();
    // Members have the role once the controller has created the RoleBinding.
    await page.locator('.page-head .phase').getByText('Active', { exact: true }).waitFor();

    expect(await page.locator('.facts').textContent()).to.contain('default');
    const other = new Visitor(await browser.newContext());
    const tab = await other.openTab();
    await demo.logIn(tab, 'nobody', '/access');
    await tab.getByRole('combobox', { name: 'Namespace' }).fill('default');
    await press(tab, 'Ask the cluster');
    await tab.getByText('Yes, nobody@example.com may.').waitFor();
    await tab.locator('.notice code', { hasText: 'list pods -n default' }).waitFor();
    expect(await tab.getByRole('link', { name: 'Open the binding' }).getAttribute('href')).to.match(/\/bindings\/view-/);
    await tab.getByRole('combobox', { name: 'Resource' }).fill('podz');
    await press(tab, 'Ask the cluster');
    await tab.getByText('The cluster has no resource podz.').waitFor();
    expect(await tab.getByText('Yes, nobody@example.com may.').count()).to.equal(0);
    expect(await barriers(tab)).to.deep.equal([]);
    await tab.getByRole('combobox', { name: 'Resource' }).fill('pods');
    await tab.getByRole('combobox', { name: 'Resource' }).press('Escape');
    await tab.getByLabel('Do what').selectOption('delete');
    await press(tab, 'Ask the cluster');
    await tab.getByText('No, nobody@example.com may not.').waitFor();

    expect(other.complaints).to.deep.equal([]);
    await other.leave();
  });

  it('deletes a binding at once, and creates it again on Undo', async () => {
    await press(page, 'Delete');
    await page.getByText('The binding is being deleted.').waitFor();
    await press(page, 'Undo');
    await page.getByRole('heading', { name: 'Binding of view' }).waitFor();
  });

  it('creates an access token that is shown once, and works until it is revoked; the dialog stays open until then', async () => {
    await page.goto(`${demo.url}/tokens`);
    await press(page, 'New token');
    await dialog().getByLabel('Description').fill('Backup');
    const creation = await hold(page, 'POST', /\/auth\/v1\/accesstoken$/);
    await dialog().getByRole('button', { name: 'Make the token' }).click();
    await creation.begun;
    await tryToClose(page);
    await creation.release();
    const token = await dialog().locator('pre').textContent();
    expect(token).to.match(/^cat_/);
    const status = async () => (await fetch(`${demo.url}/api/v2/token/info`, { headers: { authorization: `Bearer ${token}` } })).status;
    expect(await status()).to.equal(200);
    await dialog().getByRole('button', { name: 'Done' }).click();
    await page
      .getByRole('row', { name: /Backup/ })
      .getByRole('button', { name: 'Revoke' })
      .click();
    await dialog().getByRole('button', { name: 'Revoke Backup' }).click();
    await page.getByText('The token is revoked.').waitFor();
    expect(await status()).to.equal(401);
  });

  it('narrows an access token to reading in a namespace, and refuses a malformed namespace at its field', async () => {
    await page.goto(`${demo.url}/tokens`);
    await press(page, 'New token');
    await dialog().getByLabel('Description').fill('watches shop');
    await dialog().getByLabel('Rights').selectOption('Reads only');
    const namespaces = dialog().getByLabel('Only in namespaces');
    await namespaces.fill('shop, 1+1');
    await dialog().getByRole('button', { name: 'Make the token' }).click();
    await dialog().getByText('must be a namespace').waitFor();
    await visitor.complainsOf('status of 400');
    expect(await namespaces.getAttribute('aria-invalid')).to.equal('true');
    await namespaces.fill('shop');
    await dialog().getByRole('button', { name: 'Make the token' }).click();
    const token = await dialog().locator('pre').textContent();
    const statusOf = async (path: string, method = 'GET') =>
      (await fetch(`${demo.url}/api/kubernetes/api/v1${path}`, { method, headers: { authorization: `Bearer ${token}` } })).status;
    expect(await statusOf('/namespaces/shop/pods')).to.equal(200);
    expect(await statusOf('/nodes')).to.equal(403);
    expect(await statusOf('/namespaces/shop/pods/none', 'DELETE')).to.equal(403);
    await dialog().getByRole('button', { name: 'Done' }).click();
    const row = page.getByRole('row', { name: /watches shop/ });
    await row.getByText('Reads only · shop').waitFor();
    await row.getByRole('button', { name: 'Revoke' }).click();
    await dialog().getByRole('button', { name: 'Revoke watches shop' }).click();
    await page.getByText('The token is revoked.').waitFor();
  });

  it('N2 shows tokens of other users on request only, each with its owner', async () => {
    await page.goto(`${demo.url}/tokens`);
    await page.getByText('There are no access tokens.').waitFor();
    await page.getByLabel('Owner').selectOption('Tokens of all users');
    const row = page.getByRole('row', { name: /Nightly report/ });
    await row.getByRole('link', { name: 'manager@example.com' }).waitFor();
    await page.getByRole('searchbox').fill('none of these');
    await page.getByText('No entry matches the filter.').waitFor();
    await press(page, 'Clear the filter');
    await page.getByText('There are no access tokens.').waitFor();

    expect(new URL(page.url()).search).to.equal('');
  });

  it('ends another session of the same user', async () => {
    const other = new Visitor(await browser.newContext());
    const tab = await other.openTab();
    await demo.logIn(tab, 'admin');
    // The service lists sessions from its watch.
    const sessions = async () => ((await asked('admin', '/auth/v1/sessions')) as { items: object[] }).items;
    await eventually(sessions, (items) => items.length > 1);
    await page.goto(`${demo.url}/sessions`);
    await page.getByText('This device').waitFor();
    await press(page, 'End');
    await dialog().getByRole('button', { name: 'End this session' }).click();
    await page.getByText('The session is ended.').waitFor();
    await clickBeneath(tab.getByRole('link', { name: 'Users', exact: true }));
    await tab.getByRole('dialog', { name: 'Your session is over' }).waitFor();
    await other.leave();
  });

  it('offers a kubeconfig without a secret', async () => {
    await page.goto(`${demo.url}/kubeconfig`);
    const text = await page.locator('pre', { hasText: 'apiVersion: v1' }).textContent();
    const saved = page.waitForEvent('download');
    await press(page, 'Download');

    expect(text).to.contain('exec:').and.not.to.contain('token:');
    expect((await saved).suggestedFilename()).to.equal('kubeconfig.yaml');
  });

  it('speaks German and Chinese, and keeps the choice', async () => {
    await page.goto(`${demo.url}/users`);
    await press(page, 'Language');
    await page.getByRole('menuitemradio', { name: 'Deutsch' }).click();
    await page.getByRole('heading', { name: 'Benutzer' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Benutzer' }).waitFor();
    expect(await page.evaluate('document.documentElement.lang')).to.equal('de');
    await press(page, 'Sprache');
    await page.getByRole('menuitemradio', { name: '中文' }).click();
    await page.getByRole('heading', { name: '用户' }).waitFor();
    await press(page, '语言');
    await page.getByRole('menuitemradio', { name: 'English' }).click();
    await page.getByRole('heading', { name: 'Users' }).waitFor();
  });

  it('asks only for a new password if one is due', async () => {
    const tab = await (await browser.newContext()).newPage();
    await demo.logIn(tab, 'viewer');
    await tab.route(/token\/info$/, async (route) => {
      const answer = await route.fetch();
      const info = (await answer.json()) as { ext: object };
      await route.fulfill({ response: answer, json: { ...info, ext: { ...info.ext, must_change_password: true } } });
    });
    await tab.goto(`${demo.url}/users`);
    await tab.getByRole('heading', { name: 'Choose a new password' }).waitFor();
    expect(await tab.getByRole('link').count()).to.equal(0);
    await tab.getByLabel('Present password').fill('not the present one');
    await tab.getByLabel('New password').fill('another long passphrase');
    await press(tab, 'Change password');
    await tab.locator('.wrong').waitFor();
    await tab.getByLabel('Present password').fill(demo.person('viewer').password);
    await tab.unrouteAll();
    await press(tab, 'Change password');
    await tab.getByRole('heading', { name: 'Users' }).waitFor();
    await tab.context().close();
  });
});

/** Disabled extensions: the console does not lead to their pages. */
import { expect } from 'chai';
import { nameOf } from '../../service/users/a-user.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite, needsNoStop } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { theConsole } from '../../support/static-directory.ts';
import { barriers } from './axe.ts';
import { startChromium, Visitor } from './chromium.ts';
import { isLoggedIn, press, submitPassword } from './demo.ts';

const password = 'a long enough passphrase';
const admin = 'admin@example.com';
const features = {
  groups: false,
  userBindings: false,
  sessions: false,
  accessTokens: false,
  tokenExchange: false,
  mcp: false,
  kubeconfig: false,
  factors: false,
  kubernetesProxy: false,
  accessRequests: false,
  explorer: false,
  cpuProfile: false,
};

describe('a console whose extensions are switched off', () => {
  const service = forSuite(() => startEmbeddedLogin({ emails: [admin], password, features, files: theConsole }));
  const browser = forSuite(startChromium, (it) => it.close());
  const visitor = forSuite(async () => new Visitor(await browser.newContext({ ignoreHTTPSErrors: true })), needsNoStop);
  const page = forSuite(() => visitor.openTab(), needsNoStop);
  const menu = () => page.getByRole('navigation').getByRole('link');

  before(async () => {
    await service.admin.apply(clusterRoleBinding('console-admin', 'cluster-admin', { kind: 'User', name: admin }));
    await page.goto(`${service.url}/about`);
    await press(page, 'Log in');
    await submitPassword(page, { email: admin, password });
    await isLoggedIn(page, admin);
  });

  it('lists them, and the history that needs an audit store', async () => {
    const value = (name: string) => page.locator('dt', { hasText: name }).locator('+ dd');
    await value('Switched off').waitFor();
    expect((await value('Switched off').innerText()).split(', ')).to.deep.equal([...Object.keys(features), 'audit'].toSorted());
    expect((await value('Features').innerText()).split(', ')).to.include.members(['openapi', 'version', 'watch']);
    expect(await barriers(page)).to.deep.equal([]);
  });

  it('has no such pages in its menu', async () => {
    await menu().filter({ hasText: 'Sessions' }).waitFor({ state: 'detached' });
    expect((await menu().allInnerTexts()).map((text) => text.trim())).to.deep.equal(['Overview', 'Users', 'My access', 'Plugins', 'About']);
  });

  it('links no such page on its first page', async () => {
    await menu().filter({ hasText: 'Overview' }).click();
    await page.getByRole('button', { name: 'Change password' }).waitFor();
    await page.getByRole('link', { name: 'Second factors' }).waitFor({ state: 'detached' });
  });

  it('has no such tabs on the page of a user', async () => {
    await page.goto(`${service.url}/users`);
    await page.getByRole('link', { name: admin }).first().click();
    const tabs = page.getByRole('navigation', { name: admin }).getByRole('link');
    await tabs.filter({ hasText: 'History' }).waitFor();
    await tabs.filter({ hasText: 'Sessions' }).waitFor({ state: 'detached' });
    expect(await tabs.allInnerTexts()).to.deep.equal(['Profile', 'Roles', 'History']);
  });

  it('reads the Events of the cluster for the history of a user', async () => {
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await page.goto(`${service.url}/users/${nameOf(admin)}/history`);
    // The door for Events is switched off, too.
    await page.getByRole('button', { name: 'Try again' }).waitFor();
    expect(asked.filter((path) => path.startsWith('/auth/v1/audit'))).to.deep.equal([]);
    expect(asked.filter((path) => path.endsWith('/namespaces/default/events'))).not.to.deep.equal([]);
  });
});

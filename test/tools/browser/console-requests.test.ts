/** Access requests on the console: Noa asks, Ada approves and reviews, and each sees at once what the other does. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { aPolicy, policiesPath, user } from '../../service/access-requests/support.ts';
import { aNamespace } from '../../service/bindings/support.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite, needsNoStop } from '../../support/for-suite.ts';
import { clusterRoleBinding, isAllowed } from '../../support/grants.ts';
import { theConsole } from '../../support/static-directory.ts';
import { barriers } from './axe.ts';
import { startChromium, Visitor } from './chromium.ts';
import { clickBeneath, isLoggedIn, press, submitPassword } from './demo.ts';
import { misplaced } from './layout.ts';
import { picture } from './picture.ts';

const password = 'a long enough passphrase';
const [ada, noa] = ['ada@example.com', 'noa@example.com'];
const configMaps = { verb: 'list', group: '', resource: 'configmaps', namespace: 'shop' };

describe('access requests on the console', () => {
  const service = forSuite(() =>
    startEmbeddedLogin({ emails: [ada, noa], password, features: { accessRequests: true, userBindings: true }, files: theConsole }),
  );
  const browser = forSuite(startChromium, (it) => it.close());
  const visitor = () => forSuite(async () => new Visitor(await browser.newContext({ ignoreHTTPSErrors: true })), needsNoStop);
  const visitors = { ada: visitor(), noa: visitor() };
  const pages = {
    ada: forSuite(() => visitors.ada.openTab(), needsNoStop),
    noa: forSuite(() => visitors.noa.openTab(), needsNoStop),
  };
  const { ada: ofAda, noa: ofNoa } = pages;

  before(async () => {
    // The service ends the watch of a list with the right to it.
    visitors.noa.accepted = /(?:ERR_INCOMPLETE_CHUNKED_ENCODING|status of 403) .*\/configmaps$/;
    await service.admin.apply(aNamespace('shop'), clusterRoleBinding('ada', 'atrium-access-view', { kind: 'User', name: ada }));
    const policy = { subjects: [user(noa)], approvers: [user(ada)] };
    const policies = [
      aPolicy('shop-debug', { ...policy, roleRefs: ['view', 'edit'], displayName: 'Debug the shop', maxSeconds: 7200 }),
      aPolicy('shop-night', { ...policy, requireStepUp: true, breakGlass: true, displayName: 'Repair the shop at night' }),
    ];
    await service.admin.apply(...policies);
    for (const { metadata } of policies)
      await eventually(
        () => service.admin.call('GET', `${policiesPath}/${metadata.name}`),
        ({ body }) => JSON.stringify(body).includes('"type":"Ready"'),
      );
    const people = [
      { email: ada, page: ofAda, path: '/requests?view=inbox' },
      { email: noa, page: ofNoa, path: '/requests' },
    ];
    for (const { email, page, path } of people) {
      await page.goto(`${service.url}${path}`);
      await press(page, 'Log in');
      await submitPassword(page, { email, password });
      await isLoggedIn(page, email);
    }
  });
  afterEach(() => expect([...visitors.ada.takeComplaints(), ...visitors.noa.takeComplaints()]).to.deep.equal([]));

  const entry = (page: Page) => page.locator('nav.side').getByRole('link', { name: 'Requests' });
  const badge = (page: Page) => entry(page).locator('.badge');
  const phase = (page: Page, text: string) => page.locator('.page-head .phase').getByText(text, { exact: true }).waitFor();
  const toasted = (page: Page, text: string) => page.locator('.toast', { hasText: text }).first().waitFor();
  const strip = (page: Page) => page.getByRole('region', { name: 'Your access' });
  const dialog = (page: Page) => page.getByRole('dialog');
  const isAccessible = async (page: Page) => {
    expect(await barriers(page)).to.deep.equal([]);
    expect(await misplaced(page)).to.deep.equal([]);
  };
  const mayList = () => isAllowed(service.admin, noa, configMaps);
  /** Fills in the form, and sends it. */
  async function ask(role: string, policy = 'shop-debug'): Promise<void> {
    await ofNoa.goto(`${service.url}/requests/new?policy=${policy}`);
    await ofNoa.getByLabel('Role', { exact: true }).selectOption(role);
    await ofNoa.getByLabel('shop', { exact: true }).check();
    await ofNoa.getByLabel('For how long').selectOption({ label: '5 minutes' });
    await ofNoa.getByLabel('Reason').fill('the payment worker hangs since 11:00');
  }

  it('are made by a form that names the policy, the role and the place', async () => {
    await ofNoa.getByText('You have no requests.').waitFor();
    await isAccessible(ofNoa);
    await ofNoa.getByRole('link', { name: 'New request' }).click();
    await ofNoa.getByLabel('Policy').selectOption('shop-debug');
    await ofNoa.getByLabel('shop', { exact: true }).check();
    await ofNoa.getByLabel('Reason').fill('too short');
    await press(ofNoa, 'Ask');
    await ofNoa.locator('.field', { hasText: 'Reason' }).getByText('must have at least 10 characters').waitFor();
    await visitors.noa.complainsOf('status of 400');
    await isAccessible(ofNoa);
    await ask('view');
    await press(ofNoa, 'Ask');
    await phase(ofNoa, 'Pending');
  });

  it('come to the inbox of an approver without a reload', async () => {
    await badge(ofAda).getByText('1 request waits for you').waitFor({ state: 'attached' });
    // A click on the menu may come before the inbox is read, and leads to the own requests then.
    await ofAda.goto(new URL('/requests', ofAda.url()).href);
    await ofAda.getByRole('main').getByRole('link', { name: '1 request waits for you' }).click();
    await ofAda.waitForURL('**/requests?view=inbox');
    const views = ofAda.getByRole('navigation', { name: 'Requests' });
    await views.getByRole('link', { name: 'All' }).click();
    await ofAda.getByRole('link', { name: 'view', exact: true }).waitFor();
    await views.getByRole('link', { name: 'Inbox (1)' }).click();
    await ofAda.getByRole('link', { name: 'view', exact: true }).waitFor();
    await isAccessible(ofAda);
    await picture(ofAda, 'access requests');
  });

  it('show an approver what the role allows, and decide nothing by Enter', async () => {
    await ofAda.getByRole('link', { name: 'view', exact: true }).click();
    await ofAda.getByRole('region', { name: 'Rules of the role' }).getByText('configmaps').first().waitFor();
    await ofAda.getByText('No other access for a while that you may see.').waitFor();
    await ofAda.getByLabel('Comment').fill('for this incident only');
    await ofAda.getByLabel('Comment').press('Enter');
    await isAccessible(ofAda);
    await picture(ofAda, 'access request');
    await phase(ofAda, 'Pending');
  });

  it('wake a refused page of the requester once they are approved', async () => {
    await ofNoa.goto(`${service.url}/r/core/v1/configmaps/ns/shop`);
    await ofNoa.getByText('You may not see this.').first().waitFor();
    await press(ofAda, 'Approve');
    await phase(ofAda, 'Active');
    await badge(ofAda).waitFor({ state: 'detached' });
    await toasted(ofNoa, 'You have the role view now: shop.');
    await ofNoa.getByText('You may not see this.').first().waitFor({ state: 'detached' });
    await eventually(mayList, Boolean);
  });

  it('count down to the end, and end the access at once on demand', async () => {
    await strip(ofNoa).getByText('view, shop, ends in').waitFor();
    expect(await strip(ofNoa).getByRole('timer').innerText()).to.match(/^[0-5]:[0-5]\d$/);
    await isAccessible(ofNoa);
    // A toast may cover a button, and the strip is rendered again each second.
    await clickBeneath(strip(ofNoa).getByRole('button', { name: 'End now' }));
    await dialog(ofNoa).getByText('The role view ends at once: shop.').waitFor();
    await isAccessible(ofNoa);
    await dialog(ofNoa).getByRole('button', { name: 'End now' }).click();
    await strip(ofNoa).waitFor({ state: 'detached' });
    await toasted(ofNoa, 'Your access has ended: view, shop.');
    await ofNoa.getByText('You may not see this.').first().waitFor();
    expect(await mayList()).to.equal(false);
    await phase(ofAda, 'Ended');
    const last = ofAda.getByRole('table', { name: 'Timeline' }).getByRole('row').last();
    await last.getByText(noa).waitFor();
    await last.getByText('A user ended it.').waitFor();
    const over = ofAda.locator('main dl.facts dt', { hasText: 'Over since' }).locator('xpath=following-sibling::dd[1]');
    expect(await last.innerText()).to.include(await over.innerText());
    expect(await ofAda.locator('main dl.facts dt').allInnerTexts()).not.to.include('Until');
    await ofAda.getByRole('table', { name: 'Timeline' }).getByText('for this incident only').waitFor();
  });

  it('are withdrawn by their requester, and denied with a comment that the requester reads', async () => {
    await ask('edit');
    await press(ofNoa, 'Ask');
    await press(ofNoa, 'Withdraw');
    await dialog(ofNoa).getByRole('button', { name: 'Withdraw' }).click();
    await phase(ofNoa, 'Withdrawn');
    await ask('edit');
    await press(ofNoa, 'Ask');
    await phase(ofNoa, 'Pending');
    await ofAda.goto(ofNoa.url());
    await ofAda.getByLabel('Comment').fill('view is enough for that');
    await press(ofAda, 'Deny');
    await phase(ofAda, 'Denied');
    await phase(ofNoa, 'Denied');
    await ofNoa.getByRole('table', { name: 'Timeline' }).getByText('view is enough for that').waitFor();
    await isAccessible(ofNoa);
  });

  it('give a role by break-glass, with a banner for both until the review', async () => {
    await ask('view', 'shop-night');
    await ofNoa.getByLabel('I need it at once').check();
    const send = ofNoa.getByRole('button', { name: 'Ask', exact: true });
    expect(await send.getAttribute('aria-disabled')).to.equal('true');
    await isAccessible(ofNoa);
    await ofNoa.getByLabel('Type view to confirm').fill('view');
    await send.click();
    await phase(ofNoa, 'Active');
    await strip(ofNoa).getByText('Your break-glass access is not reviewed yet: view, shop.').waitFor();
    await isAccessible(ofNoa);
    await strip(ofAda).getByRole('link', { name: '1 use of break-glass waits for your review.' }).click();
    await ofAda.getByLabel('Comment').fill('justified by the incident of that night');
    await isAccessible(ofAda);
    await press(ofAda, 'Mark as reviewed');
    await strip(ofAda).waitFor({ state: 'detached' });
    await strip(ofNoa).getByText('Your break-glass access is not reviewed yet').waitFor({ state: 'detached' });
    await ofNoa.getByRole('table', { name: 'Timeline' }).getByText('justified by the incident of that night').waitFor();
    await press(ofAda, 'End now');
    await dialog(ofAda).getByRole('button', { name: 'End now' }).click();
    await phase(ofNoa, 'Ended');
    await strip(ofNoa).waitFor({ state: 'detached' });
  });

  it('fit a phone, in the dark and in each language', async () => {
    const one = new URL(ofNoa.url()).pathname;
    await ofAda.setViewportSize({ width: 390, height: 800 });
    await ofAda.emulateMedia({ colorScheme: 'dark' });
    for (const language of ['de', 'zh', 'en']) {
      await ofAda.evaluate(`localStorage.setItem('atrium-language', '${language}')`);
      for (const path of ['/requests', '/requests?view=inbox', '/requests?view=all', one]) {
        await ofAda.goto(`${service.url}${path}`);
        await ofAda.locator('main :is(.table, .state, .cards)').first().waitFor();
        await isAccessible(ofAda);
      }
    }
  });
});

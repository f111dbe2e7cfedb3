/** Machine users on the console: the form, the page with the tokens that are trusted, and the filter of the list. */
import { expect } from 'chai';
import { startEmbeddedLogin } from '../../support/embedded-login.ts';
import { forSuite, needsNoStop } from '../../support/for-suite.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { theConsole } from '../../support/static-directory.ts';
import { barriers, expectAccessible } from './axe.ts';
import { startChromium, Visitor } from './chromium.ts';
import { isLoggedIn, press, submitPassword } from './demo.ts';
import { misplaced } from './layout.ts';

const ada = { email: 'ada@example.com', password: 'a long enough passphrase' };
const issuer = 'https://token.actions.githubusercontent.com';
const audience = 'https://console.example.com';

describe('machine users on the console', () => {
  const service = forSuite(() =>
    startEmbeddedLogin({ emails: [ada.email], password: ada.password, features: { tokenExchange: true }, files: theConsole }),
  );
  const browser = forSuite(startChromium, (it) => it.close());
  const visitor = forSuite(async () => new Visitor(await browser.newContext({ ignoreHTTPSErrors: true })), needsNoStop);
  const page = forSuite(() => visitor.openTab(), needsNoStop);

  before(async () => {
    await service.admin.apply(clusterRoleBinding('ada', 'cluster-admin', { kind: 'User', name: ada.email }));
    await page.goto(`${service.url}/users/new`);
    await press(page, 'Log in');
    await submitPassword(page, ada);
    await isLoggedIn(page, ada.email);
  });
  afterEach(() => expect(visitor.takeComplaints()).to.deep.equal([]));

  it('are made without a password, and mistakes are told at their fields', async () => {
    await page.getByLabel('A machine user').check();
    await page.getByLabel('Login name').fill('shop-pipeline');
    await page.getByLabel('Issuer').fill(issuer);
    await page.getByLabel('Audience').fill(audience);
    await page.getByLabel('Claims').fill('sub=repo:acme/sh*p');
    expect(await page.getByLabel('Password').count()).to.equal(0);
    expect(await barriers(page)).to.deep.equal([]);
    expect(await misplaced(page)).to.deep.equal([]);
    await press(page, 'Create the user');
    await page.getByText('must hold `*` only as a whole segment').waitFor();
    await visitor.complainsOf('status of 4');

    await page.getByLabel('Claims').fill('sub=repo:acme/shop:ref:refs/heads/main environment=production');
    await press(page, 'Create the user');
    await page.getByRole('link', { name: 'Open the user' }).click();
    const card = page.getByRole('region', { name: 'Trusted tokens' });
    for (const text of [issuer, audience, 'sub: repo:acme/shop:ref:refs/heads/main', 'environment: production'])
      await card.getByText(text, { exact: true }).waitFor();
  });

  it('are told from persons in the list', async () => {
    await page.goto(`${service.url}/users`);
    await page.getByRole('link', { name: ada.email }).first().waitFor();
    await page.getByLabel('Source').selectOption({ label: 'Machine user' });
    await page.getByRole('link', { name: 'shop-pipeline' }).first().waitFor();
    await page.getByRole('link', { name: ada.email }).first().waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'shop-pipeline' }).first().click();
    await page.getByRole('region', { name: 'Trusted tokens' }).waitFor();
    await expectAccessible(page);
  });
});

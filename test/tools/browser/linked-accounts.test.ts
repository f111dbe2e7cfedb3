import { expect } from 'chai';
import { atCorp } from '../../service/login/linking.ts';
import { jane, TwoIssuers } from '../../service/login/two-issuers.ts';
import { nameOf } from '../../service/users/a-user.ts';
import { forSuite } from '../../support/for-suite.ts';
import { theConsole } from '../../support/static-directory.ts';
import { barriers } from './axe.ts';
import { startChromium, Visitor } from './chromium.ts';
import { isLoggedIn, submitPassword } from './demo.ts';

const ada = 'ada@example.com';
const bea = 'bea@example.com';

describe('the accounts of a user in the console', () => {
  const browser = forSuite(
    () => startChromium(),
    (it) => it.close(),
  );
  const two = forSuite(() => TwoIssuers.start({}, { files: theConsole, emails: [jane, ada, bea] }));

  it('are linked at the page of another issuer, listed, and unlinked', async () => {
    const visitor = new Visitor(await browser.newContext({ ignoreHTTPSErrors: true }));
    const page = await visitor.openTab();
    two.corp.person = atCorp('jane');
    await page.goto(two.service.url);
    await page.getByRole('button', { name: 'Log in with Local users' }).click();
    await submitPassword(page, { email: jane, password: 'correct horse battery staple' });
    await isLoggedIn(page, jane);
    await page.goto(`${two.service.url}/users/${nameOf(jane)}/accounts`);
    await page.getByRole('row').filter({ hasText: 'Local users' }).getByText('Names you').waitFor();
    expect(await barriers(page)).to.deep.equal([]);

    await page.getByRole('button', { name: 'Link Corp', exact: true }).click();
    const row = page.getByRole('row').filter({ hasText: 'corp:jane@corp.example' });
    await row.getByText('Corp', { exact: true }).waitFor();
    expect(page.url()).to.equal(`${two.service.url}/users/${nameOf(jane)}/accounts`);
    await page.getByRole('button', { name: 'Link Corp', exact: true }).waitFor({ state: 'detached' });
    expect(await barriers(page)).to.deep.equal([]);

    await row.getByRole('button', { name: 'Unlink' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Unlink Corp' }).click();
    await page.getByRole('button', { name: 'Link Corp', exact: true }).waitFor();
    await row.waitFor({ state: 'detached' });
    expect(visitor.complaints).to.deep.equal([]);
  });

  it('I2 allow no second factor after a login at another issuer, with the reason', async () => {
    const visitor = new Visitor(await browser.newContext({ ignoreHTTPSErrors: true }));
    const page = await visitor.openTab();
    two.corp.person = atCorp('bea');
    await page.goto(two.service.url);
    await page.getByRole('button', { name: 'Log in with Local users' }).click();
    await submitPassword(page, { email: bea, password: 'correct horse battery staple' });
    await isLoggedIn(page, bea);
    const factors = `${two.service.url}/users/${nameOf(bea)}/factors`;
    await page.goto(factors);
    const setUp = page.getByRole('button', { name: 'Set up an authenticator app' });
    await setUp.waitFor();
    expect(await setUp.getAttribute('aria-disabled')).to.equal(null);
    await page.goto(`${two.service.url}/users/${nameOf(bea)}/accounts`);
    await page.getByRole('button', { name: 'Link Corp', exact: true }).click();
    await page.getByRole('row').filter({ hasText: 'corp:bea@corp.example' }).waitFor();

    const linked = new Visitor(await browser.newContext({ ignoreHTTPSErrors: true }));
    const other = await linked.openTab();
    await other.goto(two.service.url);
    await other.getByRole('button', { name: 'Log in with Corp' }).click();
    await isLoggedIn(other, 'corp:bea@corp.example');
    await other.goto(factors);

    await other.getByText('You are logged in through another identity provider.').waitFor();
    const refused = other.getByRole('button', { name: 'Set up an authenticator app' });
    expect(await refused.getAttribute('aria-disabled')).to.equal('true');
    expect(await barriers(other)).to.deep.equal([]);
  });

  it('stay unchanged if a link fails, and the user sees the reason', async () => {
    const other = new Visitor(await browser.newContext({ ignoreHTTPSErrors: true }));
    two.corp.person = atCorp('kim');
    const theirs = await other.openTab();
    await theirs.goto(two.service.url);
    await theirs.getByRole('button', { name: 'Log in with Corp' }).click();
    await isLoggedIn(theirs, 'corp:kim@corp.example');
    await other.leave();

    const visitor = new Visitor(await browser.newContext({ ignoreHTTPSErrors: true }));
    const page = await visitor.openTab();
    const accounts = `${two.service.url}/users/${nameOf(ada)}/accounts`;
    await page.goto(two.service.url);
    await page.getByRole('button', { name: 'Log in with Local users' }).click();
    await submitPassword(page, { email: ada, password: 'correct horse battery staple' });
    await isLoggedIn(page, ada);
    await page.goto(accounts);
    const link = page.getByRole('button', { name: 'Link Corp', exact: true });
    await link.click();
    await page.getByText('this account is that of another user here').waitFor();
    await link.waitFor();
    expect(page.url()).to.equal(accounts);
    await isLoggedIn(page, ada);
    await visitor.complainsOf('status of 401');

    two.behave({ response: { error: 'access_denied', iss: two.corp.issuer } });
    await link.click();
    await page.getByText('You cancelled the login.').waitFor();
    await link.waitFor();
    expect(page.url()).to.equal(accounts);
    await isLoggedIn(page, ada);
  });
});

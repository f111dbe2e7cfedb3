import { expect } from 'chai';
import { TwoIssuers } from '../../service/login/two-issuers.ts';
import { forSuite } from '../../support/for-suite.ts';
import { theConsole } from '../../support/static-directory.ts';
import { startChromium, Visitor } from './chromium.ts';
import { isLoggedIn } from './demo.ts';

describe('the login page with several issuers', () => {
  const browser = forSuite(
    () => startChromium(),
    (it) => it.close(),
  );
  const two = forSuite(() => TwoIssuers.start({}, { files: theConsole }));

  it('has a button for each, and returns to the chosen one when the session has ended', async () => {
    const visitor = new Visitor(await browser.newContext({ ignoreHTTPSErrors: true }));
    const page = await visitor.openTab();
    two.corp.person = { sub: 'kim-1', email: 'kim@corp.example', email_verified: true, name: 'Kim', groups: ['dev'] };
    await page.goto(two.service.url);
    await page.getByRole('button', { name: 'Log in with Local users' }).waitFor();
    expect(await page.getByRole('button').allInnerTexts()).to.deep.equal(['Log in with Local users', 'Log in with Corp']);

    await page.getByRole('button', { name: 'Log in with Corp' }).click();
    await isLoggedIn(page, 'corp:kim@corp.example');

    await page.goto(`${two.service.url}/?atrium-again`);
    await isLoggedIn(page, 'corp:kim@corp.example');
    const left = page.waitForRequest((request) => request.url().startsWith(`${two.corp.origin}/`) && request.isNavigationRequest());
    await page.evaluate("localStorage.removeItem('atrium-session-handle')");
    await page.goto(`${two.service.url}/?atrium-again`);
    await left;
    expect(visitor.complaints).to.deep.equal([]);
  });

  it('forgets an issuer that has been removed since the last login', async () => {
    const visitor = new Visitor(await browser.newContext({ ignoreHTTPSErrors: true }));
    const page = await visitor.openTab();
    await page.goto(two.service.url);
    await page.getByRole('button', { name: 'Log in with Corp' }).waitFor();
    await page.evaluate("localStorage.setItem('atrium-issuer', 'removed')");
    await page.goto(`${two.service.url}/?atrium-again`);
    await page.waitForURL((url) => url.origin !== two.service.url || url.pathname !== '/');
    await page.goto(two.service.url);
    expect(await page.evaluate("localStorage.getItem('atrium-issuer')")).to.equal(null);
  });
});

import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { eventually } from '../../support/cluster-admin.ts';
import { tokenInText } from '../../support/token-in-text.ts';
import { Visitor } from './chromium.ts';
import { clickBeneath, demoInChromium, isLoggedIn, isLoggedOut, kept, press, submitPassword } from './demo.ts';

describe('the demo in a browser', () => {
  const { browser, demo } = demoInChromium({ users: 15 });
  let visitor: Visitor;
  let page: Page;
  const viewer = 'viewer@example.com';

  beforeEach(async () => {
    visitor = new Visitor(await browser.newContext());
    page = await visitor.openTab();
    await page.goto(`${demo.url}/`);
  });
  afterEach(() => visitor.leave());

  /** Waits for the first complaint. */
  const complaints = () =>
    eventually(
      () => visitor.complaints,
      ({ length }) => length > 0,
    );

  async function logIn(tab: Page, role: string): Promise<void> {
    await press(tab, 'Log in');
    await submitPassword(tab, demo.person(role));
    await isLoggedIn(tab, demo.person(role).email);
  }

  it('offers a login to visitors, and sends no request that would be refused', async () => {
    await isLoggedOut(page);

    const button = page.getByRole('button', { name: 'Log in', exact: true });
    await button.waitFor();
    expect(await button.isVisible()).to.equal(true);
    expect(await kept(page)).to.deep.equal({});
    expect(visitor.complaints).to.deep.equal([]);
  });

  it('logs a user in, and returns to the opened address', async () => {
    await page.goto(`${demo.url}/users?phase=Normal#later`);
    await logIn(page, 'viewer');
    await page.getByRole('link', { name: 'Vera Viewer', exact: true }).waitFor();

    expect(page.url()).to.equal(`${demo.url}/users?phase=Normal#later`);
    expect(await page.getByRole('link', { name: 'Olaf Offboarded' }).count()).to.equal(0);
    expect(visitor.complaints).to.deep.equal([]);
  });

  it('sends writes with the session', async () => {
    await logIn(page, 'viewer');
    const review = page.waitForResponse((response) => response.url().endsWith('/auth/v1/selfsubjectaccessreviews'));
    await page.goto(`${demo.url}/users`);

    expect((await review).status()).to.equal(201);
    await page.getByRole('link', { name: 'Vera Viewer', exact: true }).waitFor();
    expect(visitor.complaints).to.deep.equal([]);
  });

  it('survives a reload, and a second tab shares the login', async () => {
    await logIn(page, 'viewer');
    const callbacks: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes('/token/callback')) callbacks.push(request.url());
    });
    await page.reload();
    await isLoggedIn(page, viewer);
    const second = await visitor.openTab();
    await second.goto(`${demo.url}/users`);
    await isLoggedIn(second, viewer);

    expect(callbacks).to.deep.equal([]);
    expect(visitor.complaints).to.deep.equal([]);
  });

  it('keeps no credential where a script can read it', async () => {
    const answers: string[] = [];
    // Answers are read before the page gets them, because it navigates at once and the browser discards them then.
    await page.route(/\/token\//, async (route) => {
      const answer = await route.fetch();
      answers.push(await answer.text());
      await route.fulfill({ response: answer });
    });
    await logIn(page, 'viewer');

    const [handle = '', ...more] = Object.values(await kept(page));
    expect(handle).to.match(/^[\w-]{43}$/);
    expect(more).to.deep.equal([]);
    expect(await page.evaluate('document.cookie')).to.equal('');
    expect(answers.join()).to.contain(handle).and.not.to.match(tokenInText);
    expect((await visitor.cookies()).filter(({ httpOnly }) => !httpOnly)).to.deep.equal([]);
  });

  async function logOut(tab: Page): Promise<void> {
    await tab.getByRole('button', { name: 'Your account' }).or(tab.locator('button:has(.who)')).first().click();
    await tab.getByRole('menuitem', { name: 'Log out' }).click();
    await tab.waitForURL(/\/identity\/session\/end/);
  }

  it('logs out here, in the other tab and at the identity provider', async () => {
    await logIn(page, 'viewer');
    const second = await visitor.openTab();
    await second.goto(`${demo.url}/`);
    await isLoggedIn(second, viewer);
    await logOut(page);
    await page.locator('button[name="logout"]').click();
    await isLoggedOut(page);
    await isLoggedOut(second);

    expect(page.url()).to.equal(`${demo.url}/`);
    expect(await kept(page)).to.deep.equal({});
    expect((await visitor.cookies()).map(({ name }) => name)).not.to.satisfy((names: string[]) =>
      names.some((name) => name.startsWith('atrium_session_')),
    );
    // The issuer's logout token may end the session before the page does, and before the other tab is complete.
    for (const complaint of visitor.complaints.splice(0)) expect(complaint).to.contain('status of 401').and.to.contain(demo.url);
    await press(page, 'Log in');
    await page.locator('#password').waitFor();
  });

  it('keeps the session of a user who cancels a logout, also from a deep link', async () => {
    await page.goto(`${demo.url}/clusters/east`);
    await logIn(page, 'viewer');
    expect(page.url()).to.equal(`${demo.url}/clusters/east`);
    await page.getByText('There is no page at this address').waitFor();
    await logOut(page);
    await page.getByRole('link', { name: 'Stay logged in', exact: true }).click();
    await isLoggedIn(page, viewer);

    expect(page.url()).to.equal(`${demo.url}/`);
    expect(Object.keys(await kept(page))).to.deep.equal(['atrium-session-handle']);
    await page.goto(`${demo.url}/users`);
    await page.getByRole('link', { name: 'Vera Viewer', exact: true }).waitFor();
    expect(visitor.complaints).to.deep.equal([]);
  });

  it('ignores a forged logout address', async () => {
    await logIn(page, 'viewer');
    await page.goto(`${demo.url}/?state=made-up`);
    await isLoggedIn(page, viewer);
  });

  it('reports a wrong password, and accepts the right one then', async () => {
    await press(page, 'Log in');
    await submitPassword(page, { email: viewer, password: 'not the password' });
    await page.getByRole('alert').waitFor();

    expect(await page.locator('#email').inputValue()).to.equal(viewer);
    // The browser reports the status of the page, maybe after it has shown the page.
    expect(await complaints()).to.have.lengthOf(1);
    expect(visitor.complaints.pop()).to.contain('status of 403');
    await submitPassword(page, demo.person('viewer'));
    await isLoggedIn(page, viewer);
    expect(visitor.complaints).to.deep.equal([]);
  });

  it('returns from a cancelled login, and reports it', async () => {
    await press(page, 'Log in');
    await page.locator('button[name="cancel"]').click();
    const notice = page.getByRole('status').filter({ hasText: 'You cancelled the login.' });
    await notice.waitFor();

    expect(await page.getByRole('alert').count()).to.equal(0);
    expect(page.url()).to.equal(`${demo.url}/`);
    await page.reload();
    await isLoggedOut(page);
    expect(await notice.count()).to.equal(0);
    expect(await complaints()).to.have.lengthOf(1);
    expect(visitor.complaints[0]).to.contain('status of 401').and.to.contain('/api/v2/token/callback');
  });

  it('leads from a refused callback to the start page, which begins no login by itself', async () => {
    const visited: string[] = [];
    page.on('request', (request) => {
      if (request.isNavigationRequest()) visited.push(new URL(request.url()).pathname);
    });
    const callback = '/api/v2/token/callback';
    const refuse = async (state: string) => {
      await page.goto(`${demo.url}${callback}?code=spent&state=${state}`);
      await page.waitForURL(`${demo.url}/`);
    };
    for (const state of ['', 'malformed', 'a'.repeat(43)]) {
      await refuse(state);
      await isLoggedOut(page);
      await page.waitForLoadState('networkidle');
    }
    expect(visited).to.deep.equal([callback, '/', callback, '/', callback, '/']);

    await logIn(page, 'viewer');
    // The user goes back in the history after a login.
    await refuse('a'.repeat(43));
    await isLoggedIn(page, viewer);
    await visitor.complainsOf('status of 400');
    expect(visitor.takeComplaints()).to.deep.equal([]);
  });

  it('lets two tabs log in at once; the last session is used in both', async () => {
    const second = await visitor.openTab();
    await second.goto(`${demo.url}/`);
    await press(page, 'Log in');
    await press(second, 'Log in');
    await page.locator('#password').waitFor();
    await second.locator('#password').waitFor();
    await submitPassword(page, demo.person('viewer'));
    await isLoggedIn(page, viewer);
    // The second login replaces the first session, so pending requests of the page would be refused.
    await page.waitForLoadState('networkidle');
    await submitPassword(second, demo.person('viewer'));
    await isLoggedIn(second, viewer);
    for (const tab of [page, second]) {
      await tab.getByRole('link', { name: 'Users', exact: true }).click();
      await tab.getByRole('link', { name: 'Vera Viewer', exact: true }).waitFor();
    }

    expect(visitor.complaints).to.deep.equal([]);
  });

  it('reports a session that was ended elsewhere, and continues after the next login', async () => {
    await logIn(page, 'viewer');
    const [handle = ''] = Object.values(await kept(page));
    const cookie = (await visitor.cookies()).find(({ name }) => name.startsWith('atrium_session_'));
    const ended = await fetch(`${demo.url}/api/v2/token/logout?refresh_token=${handle}`, {
      headers: { cookie: `${cookie?.name}=${cookie?.value}` },
    });
    expect(ended.status).to.equal(200);
    await clickBeneath(page.getByRole('link', { name: 'Users', exact: true }));
    const dialog = page.getByRole('dialog', { name: 'Your session is over' });
    await dialog.waitFor();
    const opened = page.waitForEvent('popup');
    await dialog.getByRole('button', { name: 'Log in again' }).click();
    const other = await opened;
    // The identity provider still has a session, and asks for no password.
    await dialog.waitFor({ state: 'hidden' });
    if (!other.isClosed()) await other.waitForEvent('close');

    expect(page.url()).to.equal(`${demo.url}/users`);
    await page.getByRole('link', { name: 'Vera Viewer', exact: true }).waitFor();
    // The browser reports the requests that revealed the end of the session.
    for (const complaint of visitor.complaints) expect(complaint).to.contain('status of 401');
  });
});

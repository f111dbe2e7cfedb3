import { expect } from 'chai';
import type { Browser, Page } from 'playwright-core';
import { aPolicy, user } from '../../service/access-requests/support.ts';
import { aNamespace } from '../../service/bindings/support.ts';
import { codeOf } from '../../service/factors/person.ts';
import { aUser } from '../../service/users/a-user.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { startChromium, Visitor } from '../../tools/browser/chromium.ts';
import { isLoggedIn, isLoggedOut, press, submitPassword } from '../../tools/browser/demo.ts';
import { type Build, Installation, localUsers, password } from '../replicas/installation.ts';
import { buildOf, lastRelease } from '../replicas/last-release.ts';
import { rollingRestart } from '../replicas/rolling-restart.ts';
import { nextConsole } from './next-build.ts';

const [worker = ''] = localUsers;
const release = lastRelease();

// The definitions of the cluster are the present ones, as after the first step of an upgrade. A page that is open during a change of the
// build is the page of the former build.
describe('a browser during an upgrade from the last release, a rollback, and a second upgrade', () => {
  let service: Installation;
  let browser: Browser;
  let older: Build;
  let next: Awaited<ReturnType<typeof nextConsole>>;
  const visitors: Visitor[] = [];

  before(async () => {
    service = await Installation.start({ features: { accessRequests: true } });
    older = await buildOf(release);
    next = await nextConsole();
    await rollingRestart(service, undefined, older);
    browser = await startChromium();
  });
  after(async () => {
    await browser?.close();
    await service?.stop();
    await next?.remove();
  });
  afterEach(async () => {
    for (const visitor of visitors.splice(0)) await visitor.leave();
    service.balancer.affinity = undefined;
  });

  const changes = [
    ['an upgrade', () => undefined],
    ['a rollback', () => older],
    ['a second upgrade', () => undefined],
  ] as const;

  async function visit(): Promise<{ visitor: Visitor; page: Page }> {
    const visitor = new Visitor(await browser.newContext());
    visitors.push(visitor);
    const page = await visitor.openTab();
    page.setDefaultTimeout(45_000);
    await page.goto(service.url);
    return { visitor, page };
  }

  async function logIn(page: Page, email: string): Promise<void> {
    await press(page, 'Log in');
    await submitPassword(page, { email, password });
    await isLoggedIn(page, email);
  }

  async function logOut(page: Page): Promise<void> {
    await page.locator('button:has(.who)').click();
    await page.getByRole('menuitem', { name: 'Log out' }).click();
    await page.locator('button[name="logout"]').click();
    await isLoggedOut(page);
  }

  /** Opens a page by its link, as a user does. */
  async function open(page: Page, link: string): Promise<void> {
    await page.getByRole('navigation').getByRole('link', { name: link, exact: true }).first().click();
    await page.getByRole('heading', { level: 1, name: link }).waitFor();
  }

  /** Waits until a list shows a text without a reload. A list that the user points at offers its changes instead. */
  async function isListed(page: Page, text: string): Promise<void> {
    const offer = page.getByRole('button', { name: 'Show', exact: true });
    await eventually(
      async () => {
        // The list may take its changes by itself in between, which removes the offer.
        if (await offer.isVisible()) await offer.click({ timeout: 2_000 }).catch(() => undefined);
        return page.getByText(text).count();
      },
      (count) => count > 0,
    );
  }

  /** Goes to and fro between two pages until the work is done. @returns how often */
  async function during(page: Page, work: Promise<void>): Promise<number> {
    let isOver = false;
    const ends = work.finally(() => {
      isOver = true;
    });
    let visits = 0;
    for (; !isOver; visits += 1) await open(page, visits % 2 === 0 ? 'Sessions' : 'Users');
    await ends;
    return visits;
  }

  for (const [index, [change, build]] of changes.entries())
    it(`keeps its page, its live list and its session during ${change}, and logs in with a form that was open before`, async () => {
      const { page: form } = await visit();
      await press(form, 'Log in');
      await form.locator('#password').waitFor();
      const { page, visitor } = await visit();
      // A watch that begins at another replica waits for the version of the list: 504 if the version does not come in time, and 503 if the
      // replica stops. The page then reads the list again.
      const ofWatch = '50[34] .*/auth/v1/accessrequests';
      // 1.0.0 answers 404 for code of the present build. The page then loads itself again.
      const ofCode = String.raw`404 .*/assets/[\w-]+\.js`;
      visitor.accepted = new RegExp(`status of (?:${build() === undefined ? ofWatch : `${ofWatch}|${ofCode}`})$`);
      await logIn(page, worker);
      await open(page, 'Sessions');
      await open(page, 'Users');

      expect(await during(page, rollingRestart(service, undefined, build()))).to.be.above(1);

      const [beginner = '', leaver = ''] = localUsers.slice(2 * index + 1);
      await submitPassword(form, { email: beginner, password });
      await isLoggedIn(form, beginner);
      await open(page, 'Users');
      const email = `new-${index}@example.com`;
      await service.admin.apply(aUser(email));
      await isListed(page, email);
      // The code of these pages is loaded now.
      for (const link of ['My access', 'About', 'Users']) await open(page, link);
      await isLoggedIn(page, worker);
      expect(visitor.takeComplaints()).to.deep.equal([]);
      await page.reload();
      await isLoggedIn(page, worker);
      const { page: other } = await visit();
      await logIn(other, leaver);
      await logOut(other);
    });

  /** Replaces a replica. The load balancer then sends the requests of each page to both builds in turn. */
  async function mix(build: Build | undefined): Promise<void> {
    const [replaced] = service.replicas;
    if (replaced === undefined) throw new Error('there is no replica');
    await service.startReplica(build);
    await service.stopReplica(replaced);
  }

  const isOfService = (path: string) => /^\/(?:api|apis|auth|identity|openapi|plugins)\//.test(path);
  const isFile = (path: string) => path.startsWith('/assets/');

  /** Uses the page as a user does. */
  async function use(page: Page): Promise<void> {
    await logIn(page, worker);
    for (const link of ['Sessions', 'Users', 'About']) await open(page, link);
    await page.reload();
    await isLoggedIn(page, worker);
    expect(await page.evaluate("getComputedStyle(document.querySelector('.who')).textOverflow")).to.equal('ellipsis');
  }

  it('loads pages, styles and code on demand while replicas of this build and the next build answer in turn', async () => {
    await mix(undefined);
    await mix({ ...service.present, pages: next.pages });

    for (let load = 0; load < 4; load += 1) {
      const { page, visitor } = await visit();
      await use(page);
      expect(visitor.takeComplaints()).to.deep.equal([]);
      await visitor.leave();
    }
  });

  it('loads pages of the last release while its replica and one of this build answer in turn', async () => {
    await mix(older);
    await mix(undefined);
    const [old] = service.replicas;
    if (old === undefined) throw new Error('there is no replica');
    service.balancer.affinity = { backend: old, isFor: (path) => !isOfService(path) && !isFile(path) };

    for (let load = 0; load < 4; load += 1) {
      const { page, visitor } = await visit();
      await use(page);
      expect(visitor.takeComplaints()).to.deep.equal([]);
      await visitor.leave();
    }
  });

  it('says how to go on with a page of this build that a replica of the last release cannot complete', async () => {
    const { page, visitor } = await visit();
    // 1.0.0 answers 404 for files of the present build.
    visitor.accepted = /status of 404 .*\/assets\/[\w-]+\.(?:js|css)$/;
    const start = page.locator('main.start');
    const again = page.getByRole('link', { name: 'load it again' });
    await eventually(
      async () => {
        if (await again.isVisible()) await again.click();
        return start.isVisible();
      },
      (isStarted) => isStarted,
    );
    await eventually(
      () => page.evaluate("document.querySelector('link[rel=stylesheet]').sheet !== null"),
      (isStyled) => isStyled === true,
    );
    expect(visitor.takeComplaints()).to.deep.equal([]);
  });

  /** Sets up an app at the page of the issuer, which leads back to the console. @returns the secret of the app */
  async function setUpFactor(page: Page, email: string): Promise<string> {
    await page.getByRole('link', { name: 'Second factors' }).click();
    await press(page, 'Set up an authenticator app');
    await submitPassword(page, { email, password });
    const secret = ((await page.locator('.key').textContent()) ?? '').replaceAll(' ', '');
    await enterCode(page, codeOf(secret));
    await page.locator('.codes li').first().waitFor();
    await page.locator('button').click();
    await page.getByRole('row').filter({ hasText: 'Authenticator app' }).waitFor();
    return secret;
  }

  async function enterCode(page: Page, code: string): Promise<void> {
    await page.locator('#code').fill(code);
    await page.locator('#code').press('Enter');
  }

  const phase = (page: Page, text: string) => page.locator('.page-head .phase').getByText(text, { exact: true }).waitFor();

  for (const [index, build] of (['the last release', 'this build'] as const).entries())
    it(`logs in with a second factor, and gives and ends access, while both builds answer and pages come from ${build}`, async () => {
      const [asker = '', approver = ''] = localUsers.slice(10 + 2 * index);
      const backend = service.replicas[index];
      if (backend === undefined) throw new Error('there are not two replicas');
      service.balancer.affinity = { backend, isFor: (path) => !isOfService(path) };
      const policy = { subjects: [user(asker)], approvers: [user(approver)], displayName: `Debug the shop ${index}` };
      await service.admin.apply(aNamespace('shop'), aPolicy(`shop-${index}`, policy));
      const { page, visitor } = await visit();
      await logIn(page, asker);
      // The issuer has ended the session when the page does.
      visitor.accepted = /status of 401 .*\/token\/logout$/;
      const secret = await setUpFactor(page, asker);
      await logOut(page);
      await press(page, 'Log in');
      await submitPassword(page, { email: asker, password });
      await enterCode(page, codeOf(secret, 1));
      // The page tells what has changed: the new factor.
      await press(page, 'Continue');
      await isLoggedIn(page, asker);
      const { page: other, visitor: decider } = await visit();
      await logIn(other, approver);

      await page.goto(`${service.url}/requests/new?policy=shop-${index}`);
      await page.getByLabel('Role', { exact: true }).selectOption('view');
      await page.getByLabel('shop', { exact: true }).check();
      await page.getByLabel('Reason').fill('the payment worker hangs since 11:00');
      await press(page, 'Ask');
      await phase(page, 'Pending');
      await other.goto(page.url());
      await press(other, 'Approve');
      await phase(other, 'Active');
      await phase(page, 'Active');
      await press(other, 'End now');
      await other.getByRole('dialog').getByRole('button', { name: 'End now' }).click();
      await phase(other, 'Ended');
      await phase(page, 'Ended');
      expect([...visitor.takeComplaints(), ...decider.takeComplaints()]).to.deep.equal([]);
    });
});

import { expect } from 'chai';
import type { Browser, Page } from 'playwright-core';
import { aUser } from '../../service/users/a-user.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { startChromium, Visitor } from '../../tools/browser/chromium.ts';
import { isLoggedIn, isLoggedOut, press, submitPassword } from '../../tools/browser/demo.ts';
import { type Build, Installation, localUsers, password } from '../replicas/installation.ts';
import { buildOf, lastRelease } from '../replicas/last-release.ts';
import type { Replica } from '../replicas/replica.ts';
import { rollingRestart } from '../replicas/rolling-restart.ts';
import { nextConsole } from './next-build.ts';

const [worker = ''] = localUsers;
const release = lastRelease();

// The definitions of the cluster are the present ones, as after the first step of an upgrade. A page that is open during a change of the
// build is the page of the former build.
describe('a browser during an upgrade from the last release, a rollback, and a second upgrade', () => {
  let service: Installation;
  let browser: Browser;
  let older: Build | undefined;
  let next: Awaited<ReturnType<typeof nextConsole>>;
  const visitors: Visitor[] = [];

  before(async () => {
    service = await Installation.start();
    older = release && (await buildOf(release));
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
  });

  const changes = [
    ['an upgrade', () => undefined],
    ['a rollback', () => older],
    ['a second upgrade', () => undefined],
  ] as const;

  /** @param pagesFrom replica that answers with all pages; the load balancer passes on other requests. */
  async function visit({ pagesFrom }: { pagesFrom?: Replica } = {}): Promise<{ visitor: Visitor; page: Page }> {
    const context = await browser.newContext();
    const visitor = new Visitor(context);
    visitors.push(visitor);
    if (pagesFrom)
      await context.route(
        (url) => url.origin === service.url && !/^\/(?:api|apis|auth|identity|openapi|assets|plugins)\//.test(url.pathname),
        async (route) => {
          const { pathname, search } = new URL(route.request().url());
          await route.fulfill({ response: await route.fetch({ url: pagesFrom.url + pathname + search }) });
        },
      );
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
      // 1.0.0 answers 404 for code of the present build. The page then loads itself again.
      if (build() !== undefined) visitor.accepted = /status of 404 .*\/assets\/[\w-]+\.js$/;
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

    for (let load = 0; load < 4; load += 1) {
      const { page, visitor } = await visit({ pagesFrom: old });
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
});

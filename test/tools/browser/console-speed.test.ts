/** Bounds of a page's requests: their number, bytes and hops. No time is measured. */
import { expect } from 'chai';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite, needsNoStop } from '../../support/for-suite.ts';
import { type Demo, demoInChromium } from './demo.ts';
import { HeldRequests, Traffic } from './traffic.ts';

const pods = '/r/core/v1/pods';
/** Request for a list of pods, from the API server, or from the service if `lists.resources` has pods. */
const list = /\/(?:api|core)\/v1\/pods\?(?!.*(?:watch|summary)=)/;
const rights = /selfsubjectaccessreviews/;
const discovery = [/\/api\/kubernetes\/api$/, /\/api\/kubernetes\/apis$/];
/** Requests that the page of Pods needs for the first row. */
const needed = [
  list,
  rights,
  ...discovery,
  /\/api\/v2\/token\/info/,
  /\/api\/v2\/resources$/,
  /assets\/list-.*\.js/,
  /assets\/parts-.*\.js/,
];

/** Requests about the user's own access, which begin once the page is rendered. */
const ownAccess = /own-access|\/accessrequests\?/;

/** Splits requests into those of the page and those about the user's own access. */
function parted({ sent }: Traffic) {
  const isOwn = ({ line }: { line: string }) => ownAccess.test(line);
  const [own, ofPage] = [sent.filter(isOwn), sent.filter((one) => !isOwn(one))];
  const sum = (requests: typeof sent) => requests.reduce((bytes, one) => bytes + one.bytes, 0);
  return { own: { count: own.length, bytes: sum(own) }, ofPage: { count: ofPage.length, bytes: sum(ofPage) } };
}

const firstRow = (page: Page) => page.getByRole('link', { name: 'orders-db-0', exact: true }).first();

/** Starts the demo for an administrator who has opened a list before. The browser remembers the kinds that the service lists. */
function administrator(): { browser: Browser; demo: Demo; context: BrowserContext } {
  const { browser, demo } = demoInChromium({ users: 2 });
  const context = forSuite(async () => {
    const opened = await browser.newContext();
    const page = await opened.newPage();
    await demo.logIn(page, 'admin', pods);
    await firstRow(page).waitFor();
    await page.close();
    return opened;
  }, needsNoStop);
  return { browser, demo, context };
}

describe('the cold load of the console', () => {
  const { browser, demo, context } = administrator();

  /** Opens a page without plugins, because their files do not count. */
  async function open(path: string): Promise<{ page: Page; traffic: Traffic }> {
    const page = await context.newPage();
    await page.route('**/api/v1/console-plugins', (route) => route.fulfill({ json: { plugins: [], items: [] } }));
    const traffic = await Traffic.of(page);
    await page.goto(demo.url + path);
    return { page, traffic };
  }

  it('takes at most 8 requests and 60 KB for the login page', async () => {
    const page = await browser.newPage();
    const traffic = await Traffic.of(page);
    await page.goto(demo.url);
    await page.getByRole('button', { name: 'Log in', exact: true }).waitFor();
    await page.waitForLoadState('networkidle');

    expect(traffic.sent.length, `${traffic}`).to.be.within(4, 8);
    expect(traffic.bytes, `${traffic}`).to.be.within(20_000, 60_000);
    await page.close();
  });

  it('takes at most 105 KB for the overview, 109 KB with the requests of the user, and counts the users of each phase once', async () => {
    const { page, traffic } = await open('/');
    const requests = [/accessrequests\?fieldSelector.*watch=true/, /accessrequests\?inbox=true&watch=true/];
    await traffic.until(/console-plugins/, /\/deployments\?/, /\/events\?/, /phase%2CInvalid/, ...requests);

    expect(traffic.bytes, `${traffic}`).to.be.at.most(109_000);
    expect(parted(traffic).ofPage.bytes, `${traffic}`).to.be.within(20_000, 105_000);
    expect(parted(traffic).own.count, `${traffic}`).to.equal(5);
    const phases = traffic.matching(/\/users\?filterBy=phase/).map((line) => /%2C(\w+)/.exec(line)?.[1]);
    expect(phases.toSorted()).to.deep.equal(['Disabled', 'Invalid', 'Locked', 'Normal']);
    await page.close();
  });

  it('takes at most 32 KB more for the usage of the cluster once it is seen, without the pages of the cluster', async () => {
    const { page, traffic } = await open('/');
    await traffic.until(/console-plugins/, /\/deployments\?/, /\/events\?/);
    const overview = traffic.bytes;
    const end = page.getByRole('link', { name: /^Atrium / });
    await eventually(
      async () => {
        await end.scrollIntoViewIfNeeded();
        return traffic.matching(/assets\/chart-/).length;
      },
      (count) => count === 1,
    );
    await traffic.until(/\/api\/v2\/usage\/nodes/);

    expect(traffic.bytes - overview, `${traffic}`).to.be.within(20_000, 32_000);
    expect(traffic.matching(/assets\/(?:cluster|list|object)-[0-9a-f]{8}/)).to.deep.equal([]);
    await page.close();
  });

  it('takes at most 19 requests and 106 KB for Pods by their address', async () => {
    const { page, traffic } = await open(pods);
    await firstRow(page).waitFor();
    await traffic.until(/console-plugins/, /metrics\.k8s\.io/, /watch=true/);

    // Requests about the user's own access come at once or later.
    const { count, bytes } = parted(traffic).ofPage;
    expect(count, `${traffic}`).to.be.within(10, 19);
    expect(bytes, `${traffic}`).to.be.within(20_000, 106_000);
    expect(traffic.matching(/\/api\/kubernetes\/apis?$/)).to.deep.equal(['GET /api/kubernetes/api', 'GET /api/kubernetes/apis']);
    expect(traffic.matching(list)).to.have.length(1);
    await page.close();
  });

  it('takes three hops for Pods: the page, its first script, and the data of the first row', async () => {
    const page = await context.newPage();
    const held = await HeldRequests.of(page, /\/pods$|assets\/(?:index|style)-/);
    await page.goto(demo.url + pods, { waitUntil: 'commit' });
    await held.untilAsked(...needed);
    await held.release();

    await firstRow(page).waitFor();
    await held.end();
    await page.close();
  });
});

describe('a click on Pods', () => {
  const { demo, context } = administrator();

  it('takes one round trip if the menu knows the kinds', async () => {
    const page = await context.newPage();
    await page.goto(demo.url);
    const link = page.getByRole('navigation').getByRole('link', { name: 'Pods', exact: true }).first();
    await Promise.all([page.waitForResponse(/assets\/list-.*\.js/), link.hover()]);
    // The scripts of the hovered page are on their way.
    const held = await HeldRequests.of(page, /\/assets\//);
    await link.click();
    // The overview may still ask for other rights.
    await held.untilAsked(list, /selfsubjectaccessreviews .*"pods"/, /\/api\/v2\/resources$/, ...discovery);
    await held.release();

    await firstRow(page).waitFor();
    await held.end();
    await page.close();
  });

  it('sends the request for the list once', async () => {
    const page = await context.newPage();
    await page.goto(demo.url);
    const traffic = await Traffic.of(page);
    await page.getByRole('navigation').getByRole('link', { name: 'Pods', exact: true }).first().click();
    await firstRow(page).waitFor();
    await traffic.until(/watch=true/);

    expect(traffic.matching(list)).to.have.length(1);
    await page.close();
  });

  it('counts the states once, together with the first rows', async () => {
    const page = await context.newPage();
    await page.clock.install();
    await page.goto(demo.url);
    const traffic = await Traffic.of(page);
    // Pods of the demo change by themselves, and are counted again then.
    await page.route(/watch=true/, (route) => route.abort());
    await page.getByRole('navigation').getByRole('link', { name: 'Pods', exact: true }).first().click();
    await firstRow(page).waitFor();
    await traffic.until(/summary=/, /watch=true/);
    await page.clock.fastForward(5_000);

    expect(traffic.matching(/pods\?summary=/)).to.have.length(1);
    await page.close();
  });
});

describe('a click on a pod', () => {
  const { demo, context } = administrator();
  const object = /\/pods\/orders-db-0$/;

  it('sends the request for the pod beside those for its scripts, once', async () => {
    const page = await context.newPage();
    await page.goto(demo.url + pods);
    await firstRow(page).waitFor();
    const traffic = await Traffic.of(page);
    const held = await HeldRequests.of(page);
    await firstRow(page).click();
    await held.untilAsked(object, /assets\/object-.*\.js/);
    await held.end();
    await page.getByRole('heading', { name: 'Containers' }).first().waitFor();
    await traffic.until(object);

    expect(traffic.matching(object).filter((line) => line.includes('/api/kubernetes/'))).to.have.length(1);
    await page.close();
  });
});

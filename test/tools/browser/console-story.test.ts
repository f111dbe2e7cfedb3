/** The walk of docs/ask-and-approve.md in the demo: Vera asks for a right, Ada approves, and the access ends by itself. */
import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import type { Locator, Page } from 'playwright-core';
import { parse } from 'yaml';
import { z } from 'zod';
import { asService, ClusterAdmin, eventually } from '../../support/cluster-admin.ts';
import { forSuite, needsNoStop } from '../../support/for-suite.ts';
import { barriers } from './axe.ts';
import { Visitor } from './chromium.ts';
import { countClicks } from './clicks.ts';
import { demoInChromium, isLoggedIn, press, submitPassword } from './demo.ts';
import { misplaced } from './layout.ts';
import { panels, picture, screenshot } from './picture.ts';

/** Clicks of the walk, which the page and the README name. A page that needs another click fails the test. */
const clicksOf = { vera: 6, ada: 4 };

const requests = '/apis/auth.platform.io/v1/accessrequests';
const accessRequest = z.object({
  metadata: z.object({ name: z.string(), uid: z.string() }),
  spec: z.object({ requester: z.string() }),
  status: z.object({ phase: z.string() }),
});
const kubeconfig = z.object({
  clusters: z.tuple([z.object({ cluster: z.object({ server: z.string(), 'certificate-authority-data': z.string() }) })]),
});
const mergePatch = { 'content-type': 'application/merge-patch+json' };

describe('the walk "Vera asks, Ada approves, it ends"', () => {
  const { browser, demo } = demoInChromium({ users: 2 });
  const visitor = () =>
    forSuite(async () => new Visitor(await browser.newContext({ viewport: { width: 1280, height: 800 } })), needsNoStop);
  const [ofVera, ofAda] = [visitor(), visitor()];
  const vera = forSuite(() => ofVera.openTab(), needsNoStop);
  const ada = forSuite(() => ofAda.openTab(), needsNoStop);
  const clicks = { vera: () => 0, ada: () => 0 };
  const shots: { title: string; image: string }[] = [];
  before(async () => {
    ofVera.accepted = /status of 403/;
    await Promise.all([vera, ada].map((page) => page.goto(demo.url)));
    clicks.vera = await countClicks(vera);
    clicks.ada = await countClicks(ada);
  });
  afterEach(() => expect([...ofVera.takeComplaints(), ...ofAda.takeComplaints()]).to.deep.equal([]));

  async function logIn(page: Page, role: string): Promise<void> {
    const person = demo.person(role);
    await press(page, 'Log in');
    await submitPassword(page, person);
    await isLoggedIn(page, person.email);
  }
  const isFit = async (page: Page) => {
    expect(await barriers(page)).to.deep.equal([]);
    expect(await misplaced(page)).to.deep.equal([]);
  };
  /** Checks a page on a phone, in light and dark, and keeps its picture for the one of the README. */
  async function onPhone(page: Page, title: string, shown: Locator): Promise<void> {
    await page.setViewportSize({ width: 390, height: 760 });
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme });
      await shown.scrollIntoViewIfNeeded();
      await isFit(page);
    }
    shots.push({ title, image: await screenshot(page) });
    await page.emulateMedia({ colorScheme: null });
    await page.setViewportSize({ width: 1280, height: 800 });
  }
  const dialog = () => vera.getByRole('dialog', { name: 'Ask for access' });
  const told = (text: string) => vera.locator('.toast', { hasText: text });
  const menu = (page: Page, name: string) => page.locator('nav.side').getByRole('link', { name });

  it('begins where a right is missing: Vera asks for it beside the greyed action', async () => {
    await logIn(vera, 'viewer');
    await menu(vera, 'Deployments').click();
    await vera.getByRole('link', { name: 'storefront', exact: true }).click();
    await press(vera, 'More actions');
    const item = vera.getByRole('menuitem', { name: 'Ask for it: Restart' });
    await item.waitFor();
    await picture(vera, 'story missing');
    await item.click();
    await dialog().getByText('You may not read the rules of edit.').waitFor();
    await dialog().getByText('By default it reads and changes most objects').waitFor();
    await dialog().getByLabel('For how long').selectOption('5 minutes');
    await dialog().getByLabel('Reason').fill('Old prices: the storefront needs a restart');
    await isFit(vera);
    await picture(vera, 'story ask');
    await onPhone(vera, 'Vera asks', dialog().getByLabel('Reason'));
    await press(vera, 'Ask');
    await dialog().waitFor({ state: 'detached' });
    await told('Your request waits for one approval.').waitFor();

    expect(clicks.vera()).to.equal(clicksOf.vera);
  });

  it('comes to the inbox of Ada with its reason, one click behind the number that tells of it', async () => {
    await logIn(ada, 'admin');
    await menu(ada, 'Requests').locator('.badge').getByText('2 requests wait for you').waitFor({ state: 'attached' });
    await menu(ada, 'Requests').click();
    const row = ada.getByRole('row').filter({ hasText: 'viewer@example.com' });
    await row.getByText('Old prices: the storefront needs a restart').filter({ visible: true }).waitFor();
    await ada
      .getByRole('row')
      .filter({ hasText: 'priya@example.com' })
      .getByText('The cart loses items')
      .filter({ visible: true })
      .waitFor();
    expect(await ada.getByRole('row').count()).to.equal(3);
    expect(new URL(ada.url()).search).to.equal('?view=inbox');
    await isFit(ada);
    await picture(ada, 'story inbox');
    await row.getByRole('link', { name: 'edit' }).click();
    await ada.getByRole('region', { name: 'Rules of the role' }).getByText('configmaps').first().waitFor();
    await picture(ada, 'story decide');
    await onPhone(ada, 'Ada approves', ada.getByRole('button', { name: 'Approve' }));
    await press(ada, 'Approve');
    await ada.locator('.page-head .phase').getByText('Active', { exact: true }).waitFor();

    expect(clicks.ada()).to.equal(clicksOf.ada);
  });

  it('gives Vera the right at once, with the time that is left', async () => {
    await told('You have the role edit now: shop.').waitFor();
    expect(await told('Your request waits').count()).to.equal(0);
    const strip = vera.getByRole('region', { name: 'Your access' });
    await strip.getByText('edit, shop, ends in').waitFor();
    const restart = vera.locator('.page-head').getByRole('button', { name: 'Restart', exact: true });
    await restart.waitFor();
    await isFit(vera);
    await picture(vera, 'story active');
    await restart.click();
    await vera.getByRole('dialog').getByRole('button', { name: 'Restart', exact: true }).click();
    await vera.getByText('restarts its pods.').waitFor();
  });

  it('ends at its time, with a message', async () => {
    await endSoon();
    await told('Your access has ended: edit, shop.').waitFor();
    await vera.getByRole('region', { name: 'Your access' }).waitFor({ state: 'detached' });
    await ada.locator('.page-head .phase').getByText('Ended', { exact: true }).waitFor();
    await menu(vera, 'Requests').click();
    await vera.getByRole('row').filter({ hasText: 'Old prices: the storefront' }).getByRole('link', { name: 'edit' }).click();
    const last = vera.getByRole('table', { name: 'Timeline' }).getByRole('row').last();
    await last.getByText('The time of the access is over.').waitFor();
    await vera.getByRole('region', { name: 'Rules of the role' }).getByText('You may not read the rules of edit.').waitFor();
    await isFit(vera);
    // The end was brought forward: the pictures show a request of an hour.
    await vera.evaluate("document.querySelectorAll('.toast button').forEach((button) => button.click())");
    await menu(vera, 'Requests').click();
    await vera.getByRole('row').filter({ hasText: 'Old prices after the sale' }).getByRole('link', { name: 'edit' }).click();
    await last.getByText('The time of the access is over.').waitFor();
    await vera.locator('main').getByText('1 hour').waitFor();
    await picture(vera, 'story ended');
    await onPhone(vera, 'It ends by itself', last);
    await picture(await panels(vera, shots), 'story');
  });

  it('is told with these clicks by the page that the README links', async () => {
    const read = (path: string) => readFile(new URL(`../../../${path}`, import.meta.url), 'utf8');
    const page = (await read('docs/ask-and-approve.md')).replaceAll(/\s+/g, ' ');
    const count = clicksOf.vera + clicksOf.ada;

    expect(page).to.include(`${count} clicks`);
    expect((await read('README.md')).replaceAll(/\s+/g, ' ')).to.include(`${count} clicks`);
  });

  /** Brings the end of the access forward, which the API server accepts at least five minutes after its begin. */
  async function endSoon(): Promise<void> {
    const { clusters } = kubeconfig.parse(parse(await readFile(demo.kubeconfig, 'utf8')));
    const { server, 'certificate-authority-data': authority } = clusters[0].cluster;
    const admin = new ClusterAdmin(
      { url: server, certificateAuthority: Buffer.from(authority, 'base64').toString() },
      demo.person('admin').token,
    );
    const { items } = z.object({ items: z.array(accessRequest) }).parse((await admin.call('GET', requests)).body);
    const { metadata } =
      items.find(({ spec, status }) => spec.requester === demo.person('viewer').email && status.phase === 'Active') ?? {};
    const until = new Date(Math.ceil(Date.now() / 1000 + 3) * 1000).toISOString().replace('.000Z', 'Z');
    const answers = [
      await admin.call('PATCH', `${requests}/${metadata?.name}/status`, { status: { until } }, { ...mergePatch, ...asService }),
      await admin.call(
        'PATCH',
        `/apis/auth.platform.io/v1/userbindings/ar-${metadata?.uid}`,
        { spec: { expiresAt: until } },
        { ...mergePatch, ...asService },
      ),
    ];
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200]);
    await eventually(
      () => admin.call('GET', `/apis/auth.platform.io/v1/userbindings/ar-${metadata?.uid}`),
      ({ status }) => status === 404,
    );
    await admin.close();
  }
});

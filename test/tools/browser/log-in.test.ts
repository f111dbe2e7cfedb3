import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Browser, Page } from 'playwright-core';
import { z } from 'zod';
import { eventually } from '../../support/cluster-admin.ts';
import { Command } from '../../support/command.ts';
import { startChromium, Visitor } from './chromium.ts';

const infoFile = z.object({
  url: z.string(),
  people: z.array(z.object({ email: z.string(), role: z.string(), password: z.string(), token: z.string() })),
});
type Person = z.output<typeof infoFile>['people'][number];

describe('the demo in a browser', () => {
  let directory: string;
  let demo: Command;
  let info: z.output<typeof infoFile>;
  let browser: Browser;
  let visitor: Visitor;
  let page: Page;

  before(async () => {
    browser = await startChromium();
    directory = await mkdtemp(join(tmpdir(), 'atrium-test-'));
    const path = join(directory, 'info.json');
    demo = new Command(['sandbox', '--port', '0', '--users', '15', '--info', path]);
    await eventually(
      () => demo.process.exitCode !== null || demo.stdout.includes('Ctrl-C'),
      (isReady) => isReady,
    );
    info = infoFile.parse(JSON.parse(await readFile(path, 'utf8')));
  });
  after(async () => {
    await browser?.close();
    await demo?.end();
    if (directory !== undefined) await rm(directory, { recursive: true });
  });

  beforeEach(async () => {
    visitor = new Visitor(await browser.newContext());
    page = await visitor.openTab();
    await page.goto(`${info.url}/`);
  });
  afterEach(() => visitor.leave());

  const person = (role: string): Person => {
    const found = info.people.find((one) => one.role === role);
    if (found === undefined) throw new Error(`the demo has no ${role}`);
    return found;
  };
  const state = (tab: Page, text: string) => tab.locator('#state', { hasText: text }).waitFor();
  const press = (tab: Page, name: string) => tab.getByRole('button', { name, exact: true }).click();

  async function submitPassword(tab: Page, { email, password }: Pick<Person, 'email' | 'password'>): Promise<void> {
    await tab.locator('#email').fill(email);
    await tab.locator('#password').fill(password);
    await tab.locator('#password').press('Enter');
  }

  async function logIn(tab: Page, role: string): Promise<void> {
    await press(tab, 'Log in');
    await submitPassword(tab, person(role));
    await state(tab, person(role).email);
  }

  const kept = async (tab: Page) => z.record(z.string(), z.string()).parse(await tab.evaluate('({ ...localStorage, ...sessionStorage })'));

  it('shows a visitor who has not logged in what every user may see', async () => {
    await state(page, 'Anonymous');

    await page.locator('#modules dd').first().waitFor();
    expect(await page.locator('#users').textContent()).to.contain('Log in');
    expect(await page.getByRole('button', { name: 'Log out' }).isVisible()).to.equal(false);
    expect(await kept(page)).to.deep.equal({});
    expect(visitor.complaints).to.deep.equal([]);
  });

  it('lets a person log in, and back to the place they came from', async () => {
    await page.goto(`${info.url}/?theme=any#users-title`);
    await logIn(page, 'viewer');

    expect(page.url()).to.equal(`${info.url}/?theme=any#users-title`);
    expect(await page.locator('#who').textContent())
      .to.contain('viewer@example.com')
      .and.to.contain('Normal');
    await page.locator('#users tbody tr').first().waitFor();
    expect(await page.locator('#users tbody tr').count()).to.equal(10);
    expect(await page.locator('#users .pager').textContent()).to.contain('of 3');
    expect(visitor.complaints).to.deep.equal([]);
  });

  it('writes with the session', async () => {
    await logIn(page, 'viewer');

    await page.locator('#review .notice.good').waitFor();
    await page.locator('#review-verb').selectOption('delete');
    await press(page, 'Ask');
    await page.locator('#review .notice.bad').waitFor();

    expect(await page.locator('#review').textContent()).to.contain('No,');
    expect(visitor.complaints).to.deep.equal([]);
  });

  it('survives a reload, and a second tab shares the log-in', async () => {
    await logIn(page, 'viewer');
    const callbacks: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes('/token/callback')) callbacks.push(request.url());
    });
    await page.reload();
    await state(page, 'viewer@example.com');
    await page.locator('#review .notice.good').waitFor();
    const second = await visitor.openTab();
    await second.goto(`${info.url}/`);
    await state(second, 'viewer@example.com');

    expect(callbacks).to.deep.equal([]);
    expect(visitor.complaints).to.deep.equal([]);
  });

  it('keeps no credential where a script can read it', async () => {
    const answers: string[] = [];
    page.on('response', async (response) => {
      if (response.url().includes('/token/')) answers.push(await response.text());
    });
    await logIn(page, 'viewer');

    const [handle = '', ...more] = Object.values(await kept(page));
    expect(handle).to.match(/^[\w-]{43}$/);
    expect(more).to.deep.equal([]);
    expect(await page.evaluate('document.cookie')).to.equal('');
    expect(answers.join()).to.contain(handle).and.not.to.contain('eyJ');
    expect((await visitor.cookies()).filter(({ httpOnly }) => !httpOnly)).to.deep.equal([]);
  });

  it('logs out here, in the other tab and at the identity provider', async () => {
    await logIn(page, 'viewer');
    const second = await visitor.openTab();
    await second.goto(`${info.url}/`);
    await state(second, 'viewer@example.com');
    await page.reload();
    await state(page, 'viewer@example.com');
    await press(page, 'Log out');
    await page.waitForURL(/\/identity\/session\/end/);
    await page.locator('button[name="logout"]').click();
    await state(page, 'Anonymous');
    await state(second, 'Anonymous');

    expect(page.url()).to.equal(`${info.url}/`);
    expect(await kept(page)).to.deep.equal({});
    expect((await visitor.cookies()).map(({ name }) => name)).not.to.include('atrium_session');
    // The issuer's own logout token may have ended the session before the page does.
    for (const complaint of visitor.complaints.splice(0)) expect(complaint).to.contain('status of 401').and.to.contain('/token/logout');
    await press(page, 'Log in');
    await page.locator('#password').waitFor();
  });

  it('leaves the session to a person who stays logged in after all, from a deep link too', async () => {
    await page.goto(`${info.url}/clusters/east`);
    await logIn(page, 'viewer');
    expect(page.url()).to.equal(`${info.url}/clusters/east`);
    await press(page, 'Log out');
    await page.waitForURL(/\/identity\/session\/end/);
    await page.getByRole('link', { name: 'Stay logged in', exact: true }).click();
    await state(page, 'viewer@example.com');

    expect(page.url()).to.equal(`${info.url}/`);
    expect(Object.keys(await kept(page))).to.deep.equal(['atrium-session-handle']);
    await page.reload();
    await state(page, 'viewer@example.com');
    await page.locator('#users tbody tr').first().waitFor();
    expect(visitor.complaints).to.deep.equal([]);
  });

  it('takes no log-out from an address that somebody has made', async () => {
    await logIn(page, 'viewer');
    await page.goto(`${info.url}/?state=made-up`);
    await state(page, 'viewer@example.com');
  });

  it('says that a password is wrong, and takes the right one then', async () => {
    await press(page, 'Log in');
    await submitPassword(page, { email: person('viewer').email, password: 'not the password' });
    await page.getByRole('alert').waitFor();

    expect(await page.locator('#email').inputValue()).to.equal(person('viewer').email);
    expect(visitor.complaints).to.have.lengthOf(1);
    // What the browser itself says of the page's status.
    expect(visitor.complaints.pop()).to.contain('status of 403');
    await submitPassword(page, person('viewer'));
    await state(page, 'viewer@example.com');
    expect(visitor.complaints).to.deep.equal([]);
  });

  it('comes back from a log-in that was cancelled, and says so', async () => {
    await press(page, 'Log in');
    await page.locator('button[name="cancel"]').click();
    await page.locator('#problem').getByRole('status').waitFor();

    expect(await page.locator('#problem').textContent()).to.equal('You cancelled the login.');
    expect(await page.getByRole('alert').count()).to.equal(0);
    expect(page.url()).to.equal(`${info.url}/`);
    await state(page, 'Anonymous');
    await page.reload();
    await state(page, 'Anonymous');
    expect(await page.getByRole('alert').count()).to.equal(0);
    expect(visitor.complaints).to.have.lengthOf(1);
    expect(visitor.complaints[0]).to.contain('status of 401').and.to.contain('/api/v2/token/callback');
  });

  it('lets two tabs log in at once; the last one counts in both', async () => {
    const second = await visitor.openTab();
    await second.goto(`${info.url}/`);
    await press(page, 'Log in');
    await press(second, 'Log in');
    await page.locator('#password').waitFor();
    await second.locator('#password').waitFor();
    await submitPassword(page, person('viewer'));
    await state(page, 'viewer@example.com');
    await submitPassword(second, person('viewer'));
    await state(second, 'viewer@example.com');
    for (const tab of [page, second]) {
      await tab.locator('#review-verb').selectOption('delete');
      await press(tab, 'Ask');
      await tab.locator('#review', { hasText: 'No,' }).waitFor();
    }

    expect(visitor.complaints).to.deep.equal([]);
  });

  it('tells that the session was ended elsewhere', async () => {
    await logIn(page, 'viewer');
    const [handle = ''] = Object.values(await kept(page));
    const cookie = (await visitor.cookies()).find(({ name }) => name === 'atrium_session')?.value ?? '';
    const ended = await fetch(`${info.url}/api/v2/token/logout?refresh_token=${handle}`, {
      headers: { cookie: `atrium_session=${cookie}` },
    });
    expect(ended.status).to.equal(200);
    await press(page, 'List');
    await state(page, 'Anonymous');

    expect(await page.locator('#problem').getByRole('alert').textContent()).to.contain('Your session is over');
    expect(await kept(page)).to.deep.equal({});
    for (const complaint of visitor.complaints) expect(complaint).to.contain('status of 401');
  });

  it('takes a pasted token instead, and forgets it', async () => {
    await page.getByText('Send a bearer token instead').click();
    await page.getByLabel('Bearer token').fill(person('admin').token);
    await press(page, 'Use it');
    await state(page, 'admin@example.com');
    await page.locator('#users tbody tr').first().waitFor();
    await press(page, 'Forget it');
    await state(page, 'Anonymous');

    expect(await kept(page)).to.deep.equal({});
    expect(visitor.complaints).to.deep.equal([]);
  });
});

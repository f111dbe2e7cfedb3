/** The example of docs/front-end.md: a page on its own port, beside the demo. */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { z } from 'zod';
import { eventually } from '../../support/cluster-admin.ts';
import { Command } from '../../support/command.ts';
import { forSuite } from '../../support/for-suite.ts';
import { freePort } from '../../support/free-port.ts';
import { startChromium, Visitor } from './chromium.ts';

const example = new URL('../../../examples/front-end/', import.meta.url);
const infoFile = z.object({
  url: z.string(),
  people: z.array(z.object({ email: z.string(), role: z.string(), password: z.string(), token: z.string() })),
});

describe('the example of a front-end on another port', () => {
  let directory: string;
  let demo: Command;
  let info: z.output<typeof infoFile>;
  let files: Server;
  let address: string;
  const browser = forSuite(
    () => startChromium(),
    (it) => it.close(),
  );
  let visitor: Visitor;
  let page: Page;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'atrium-test-'));
    const port = await freePort();
    address = `http://127.0.0.1:${port}/`;
    const path = join(directory, 'info.json');
    const beside = ['--origin', address.slice(0, -1), '--redirect-url', address];
    demo = new Command(['sandbox', '--port', '0', '--users', '0', '--info', path, ...beside]);
    await eventually(
      () => demo.process.exitCode !== null || demo.stdout.includes('Ctrl-C'),
      (isReady) => isReady,
    );
    info = infoFile.parse(JSON.parse(await readFile(path, 'utf8')));
    files = createServer(async ({ url }, response) => {
      const isScript = url === '/main.js';
      const text = await readFile(new URL(isScript ? 'main.js' : 'index.html', example), 'utf8');
      response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
      // The demo must be of the same site, because the cookie of a login is sent to no other.
      response.end(text.replace('http://127.0.0.1:8080', info.url.replace('localhost', '127.0.0.1')));
    }).listen(port, '127.0.0.1');
    visitor = new Visitor(await browser.newContext());
    page = await visitor.openTab();
    await page.goto(address);
  });
  after(async () => {
    files?.close();
    await demo?.end();
    if (directory !== undefined) await rm(directory, { recursive: true });
  });

  const person = (role: string) => {
    const found = info.people.find((one) => one.role === role);
    if (found === undefined) throw new Error(`the demo has no ${role}`);
    return found;
  };
  const submitPassword = async () => {
    await page.locator('#email').fill(person('viewer').email);
    await page.locator('#password').fill(person('viewer').password);
    await page.locator('#password').press('Enter');
  };
  const line = (text: string) => page.locator('#users', { hasText: text }).waitFor();

  it('is 60 lines of code', async () => {
    const lines = (await readFile(new URL('main.js', example), 'utf8')).split('\n');
    expect(lines.filter((text) => !/^\s*(\/\*\*.*)?$/.test(text)).length).to.be.lessThanOrEqual(60);
  });

  it('logs a user in and returns, with a token that is missing from URLs', async () => {
    await page.locator('#login').click();
    await submitPassword();
    await page.locator('#state', { hasText: 'You are viewer@example.com.' }).waitFor();

    expect(page.url()).to.equal(address);
    expect(visitor.complaints).to.deep.equal([]);
  });

  it('follows the list of users', async () => {
    await line('jane@example.com: Normal');
    const { token } = person('manager');
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const spec = { email: 'new@example.com', username: 'New', password: 'correct horse battery' };
    const made = await fetch(`${info.url}/auth/v1/users`, { method: 'POST', headers, body: JSON.stringify({ spec }) });

    expect(made.status).to.equal(201);
    await line('new@example.com: Normal');
  });

  it('stays logged in after a reload, and renews a token that is about to expire', async () => {
    const kept = z.object({ access_token: z.string(), refresh_token: z.string() });
    const read = async () => kept.parse(JSON.parse(String(await page.evaluate("sessionStorage.getItem('tokens')"))));
    const before = await read();
    await page.evaluate(
      "sessionStorage.setItem('tokens', JSON.stringify({ ...JSON.parse(sessionStorage.getItem('tokens')), expire_at: new Date() }))",
    );
    await page.reload();
    await page.locator('#state', { hasText: 'You are viewer@example.com.' }).waitFor();
    await line('jane@example.com: Normal');

    expect((await read()).refresh_token).not.to.equal(before.refresh_token);
    expect(visitor.complaints).to.deep.equal([]);
  });

  it('logs out here and at the issuer, and returns', async () => {
    const { access_token: token } = z
      .looseObject({ access_token: z.string() })
      .parse(JSON.parse(String(await page.evaluate("sessionStorage.getItem('tokens')"))));
    await page.locator('#logout').click();
    await page.locator('button[name="logout"]').click();
    await page.waitForURL(address);

    await page.locator('#state', { hasText: /^No user is logged in\.$/ }).waitFor();
    expect(await page.evaluate('({ ...sessionStorage })')).to.deep.equal({});
    const refused = await fetch(`${info.url}/api/v2/token/info`, { headers: { authorization: `Bearer ${token}` } });
    expect(refused.status).to.equal(401);
    await page.locator('#login').click();
    await page.locator('#password').waitFor();
  });
});

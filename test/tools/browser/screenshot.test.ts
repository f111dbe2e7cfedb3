import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { Browser } from 'playwright-core';
import { z } from 'zod';
import { eventually } from '../../support/cluster-admin.ts';
import { Command } from '../../support/command.ts';
import { startChromium } from './chromium.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const picture = 'docs/images/console.png';

const infoFile = z.object({ url: z.string(), people: z.array(z.object({ email: z.string(), role: z.string(), password: z.string() })) });

/** With UPDATE_SCREENSHOT=1 the picture in the repository becomes the one that was taken. */
describe('the picture of the README', () => {
  let browser: Browser;
  let demo: Command;
  let directory: string;

  before(async () => {
    browser = await startChromium();
    directory = await mkdtemp(join(tmpdir(), 'atrium-test-'));
    const path = join(directory, 'info.json');
    demo = new Command(['sandbox', '--port', '0', '--users', '5', '--info', path]);
    await eventually(
      () => demo.process.exitCode !== null || demo.stdout.includes('Ctrl-C'),
      (isReady) => isReady,
    );
  });
  after(async () => {
    await browser?.close();
    await demo?.end();
    if (directory !== undefined) await rm(directory, { recursive: true });
  });

  it('shows the page of the demo after login, and is small', async () => {
    const { url, people } = infoFile.parse(JSON.parse(await readFile(join(directory, 'info.json'), 'utf8')));
    const person = people.find(({ role }) => role === 'manager');
    const page = await browser.newPage({ viewport: { width: 1000, height: 640 }, colorScheme: 'light' });
    await page.goto(`${url}/`);
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
    await page.locator('#email').fill(person?.email ?? '');
    await page.locator('#password').fill(person?.password ?? '');
    await page.locator('#password').press('Enter');
    await page
      .getByText(person?.email ?? '')
      .first()
      .waitFor();
    await page.waitForLoadState('networkidle');

    const taken = await page.screenshot();
    if (process.env.UPDATE_SCREENSHOT === '1') {
      await mkdir(dirname(join(root, picture)), { recursive: true });
      await writeFile(join(root, picture), taken);
    }

    expect(taken.subarray(1, 4).toString()).to.equal('PNG');
    expect((await stat(join(root, picture))).size).to.be.lessThan(150_000);
    expect(await readFile(join(root, 'README.md'), 'utf8')).to.include(`](${picture})`);
  });
});

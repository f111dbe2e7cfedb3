/** Logs and a terminal on the console, which a real API server passes on to a node. */
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { barriers } from '../../tools/browser/axe.ts';
import { press } from '../../tools/browser/demo.ts';
import { startClusterConsole } from './support.ts';

describe('the page of logs and the terminal on the console', () => {
  const suite = forSuite(startClusterConsole);
  const shell = '/r/core/v1/pods/ns/default/shell';
  const screen = (page: Page) => page.locator('.xterm-rows');
  /** Types a command. */
  const run = async (page: Page, command: string) => {
    await page.keyboard.type(command);
    await page.keyboard.press('Enter');
  };

  it('follows a log at its end until the user scrolls', async () => {
    await suite.node.log('main', Array.from({ length: 300 }, (_, index) => `line ${index} GET /cart 200\n`).join(''));
    const page = await suite.open('admin', `${shell}/logs`);
    await page.getByText('300 lines.').waitFor();
    await suite.node.log('main', 'line 300 POST /order 500\n');
    await page.getByText('301 lines.').waitFor();

    const fromEnd = () => page.locator('.log').evaluate((log) => log.scrollHeight - log.scrollTop - log.clientHeight);
    expect(await fromEnd()).to.be.lessThan(40);
    await page.locator('.log').evaluate((log) => log.scrollTo(0, 0));
    await page.getByRole('button', { name: 'To the newest line' }).waitFor();
    await suite.node.log('main', 'line 301 GET / 200\n');
    await page.getByText('302 lines.').waitFor();
    expect(await fromEnd()).to.be.greaterThan(1000);
    expect(await barriers(page)).to.deep.equal([]);
  });

  it('shows the lines that contain a text, and downloads all lines as a file', async () => {
    const page = await suite.open('admin', `${shell}/logs`);
    await page.getByText(/30\d lines/).waitFor();
    await page.getByRole('searchbox').fill('order');
    await page.getByText('One line matches.').waitFor();

    expect(await page.locator('.log').textContent())
      .to.contain('POST /order 500')
      .and.not.to.contain('/cart');
    const saved = page.waitForEvent('download');
    await press(page, 'Download');
    expect((await saved).suggestedFilename()).to.equal('shell-main.log');
  });

  it('keeps the last lines of a log that is longer', async () => {
    await suite.node.log('main', Array.from({ length: 60_000 }, (_, index) => `many ${index}\n`).join(''));
    const page = await suite.open('admin', `${shell}/logs`);
    await page.getByText('many 59999').waitFor();
    const text = (await page.getByText(/lines\./).textContent()) ?? '';

    expect(Number(text.replaceAll(/\D/g, ''))).to.be.within(50_000, 50_400);
  });

  it('runs a shell, in the size of the page, until it ends, and again', async () => {
    const page = await suite.open('admin', `${shell}/terminal`);
    await press(page, 'Open sh in main');
    await page.getByRole('button', { name: 'End', exact: true }).waitFor();
    await run(page, 'echo "sum: $((40 + 2))"; stty size');
    await screen(page).getByText('sum: 42').waitFor();
    // The shell and `stty` write one after the other, so the output may arrive in parts.
    const widthIn = (text = '') => Number(/(\d+) (\d{2,3})\s/.exec(text)?.[2]);
    const width = await eventually(async () => widthIn((await screen(page).innerText()).split('sum: 42')[1]), Number.isFinite);
    expect(width).to.be.greaterThan(80);
    expect(await barriers(page)).to.deep.equal([]);

    await page.setViewportSize({ width: 800, height: 700 });
    // The page notices its new size after a layout, and reports it to the shell then.
    const narrow = async () => {
      await run(page, 'clear; stty size | sed s/^/now:/');
      const line = screen(page).getByText(/now:\d+ \d{2,3}\s*$/);
      await line.waitFor();
      return widthIn(`${await line.innerText()} `);
    };
    await eventually(narrow, (now) => now < width);
    await page.setViewportSize({ width: 1280, height: 800 });

    await run(page, 'exit 7');
    await page.getByText('The shell ended with exit status 7.').waitFor();
    await press(page, 'Again');
    await page.getByRole('button', { name: 'End', exact: true }).waitFor();
    await run(page, 'exit');
    await page.getByText('The shell ended with exit status 0.').waitFor();
  });

  it('moves the focus out of the terminal by Ctrl+Shift+Escape, and ends it by its button', async () => {
    const page = await suite.open('admin', `${shell}/terminal`);
    await press(page, 'Open sh in main');
    const end = page.getByRole('button', { name: 'End', exact: true });
    await end.waitFor();
    await page.keyboard.press('Control+Shift+Escape');

    expect(await end.evaluate((button) => button.matches(':focus'))).to.equal(true);
    await page.keyboard.press('Enter');
    await page.getByText('You ended the terminal.').waitFor();
  });

  it('names the missing right to users who may read logs and not run commands', async () => {
    const page = await suite.open('viewer', '/r/core/v1/pods/ns/shop/web-0/terminal');
    await page.getByText('You may not see this.').waitFor();

    expect(await page.getByRole('main').textContent()).to.contain('create pods/exec web-0 -n shop');
  });
});

/** The terminal of the console: programs of a container control the terminal, and nothing else. */
import { expect } from 'chai';
import type { WebSocketRoute } from 'playwright-core';
import { eventually } from '../../support/cluster-admin.ts';
import { loggedIn } from './demo.ts';

describe('a terminal in the console', () => {
  const { demo, page } = loggedIn('admin', '/');
  const shells: WebSocketRoute[] = [];
  /** Input of the shell, as bytes in latin1. */
  let input = '';
  const print = (text: string) => shells.at(-1)?.send(Buffer.concat([Buffer.from([1]), Buffer.from(text)]));
  const screen = () => page.locator('.terminal-host');
  const paste = (text: string) =>
    page.evaluate(`{
      const clipboardData = new DataTransfer();
      clipboardData.setData('text/plain', ${JSON.stringify(text)});
      const event = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true });
      document.querySelector('.terminal-host textarea').dispatchEvent(event);
    }`);
  const typed = (wanted: string) =>
    eventually(
      () => input,
      (text) => text.includes(wanted),
    );

  before(async () => {
    await page.routeWebSocket(/\/exec\?/, (route) => {
      shells.push(route);
      route.onMessage((message) => {
        const bytes = Buffer.from(message as Buffer);
        if (bytes[0] === 0) input += bytes.subarray(1).toString('latin1');
      });
    });
    await page.goto(`${demo.url}/r/apps/v1/deployments/ns/shop/storefront`);
    await page
      .getByRole('table', { name: 'Pods' })
      .getByRole('link', { name: /^storefront-/ })
      .first()
      .click();
    await page.getByRole('link', { name: 'Terminal' }).click();
    await page.getByRole('button', { name: /^Open sh in / }).click();
    await eventually(
      () => shells.length,
      (count) => count === 1,
    );
    print('ready\r\n');
    await screen().getByText('ready').first().waitFor();
  });
  beforeEach(() => {
    input = '';
  });

  it('pastes in brackets, which the text cannot end', async () => {
    print('\x1b[?2004hbracketed\r\n');
    await screen().getByText('bracketed').first().waitFor();
    await paste('echo one\x1b[201~\rreboot\r\x9b201~\x03\x04done\n');

    expect(await typed('done')).to.equal('\x1b[200~echo one[201~\rreboot\r201~done\r\x1b[201~');
  });

  it('pastes without brackets, keys of control and NUL where the program asks for none', async () => {
    print('\x1b[?2004lplain\r\n');
    await screen().getByText('plain').first().waitFor();
    await paste('a\tb\x1b[A\0\x7fc');

    expect(await typed('c')).to.equal('a\tb[Ac');
  });

  it('lets a program set no clipboard and no title of the page', async () => {
    const title = await page.title();
    await page.evaluate('globalThis.written = 0; navigator.clipboard.writeText = async () => { written += 1; };');
    print('\x1b]52;c;cm0gLXJmIC8K\x07\x1b]0;owned\x07\x1b]2;owned\x1b\\\x1b]52;c;?\x07after\r\n');
    await screen().getByText('after').first().waitFor();

    expect(await page.title()).to.equal(title);
    expect(await page.evaluate('written')).to.equal(0);
    expect(input).to.equal('');
  });

  it('joins characters that come in several messages', async () => {
    const bytes = Buffer.from('née 管理 👍\r\n');
    for (const byte of bytes) shells.at(-1)?.send(Buffer.from([1, byte]));

    await screen().getByText('née 管理 👍').first().waitFor();
  });

  it('reports the mouse in its oldest form as bytes', async () => {
    print('\x1b[?1000h\x1b[2J\x1b[Hmouse\r\n');
    await screen().getByText('mouse').first().waitFor();
    const box = await page.locator('.xterm-screen').boundingBox();
    if (box === null) throw new Error('the terminal has no place');
    await page.mouse.click(box.x + box.width - 5, box.y + 5);

    const report = await typed('\x1b[M');
    expect(report.charAt(5)).to.equal('!');
    expect(report.charCodeAt(4)).to.be.within(0x80, 0xff);
  });
});

/** The log of a container in the console, over connections that behave badly. */
import { expect } from 'chai';
import type { WebSocketRoute } from 'playwright-core';
import { eventually } from '../../support/cluster-admin.ts';
import { addPod } from './cluster-answers.ts';
import { loggedIn } from './demo.ts';

describe('a log in the console', () => {
  const { demo, page } = loggedIn('admin', '/');
  const sockets: WebSocketRoute[] = [];
  const log = () => page.locator('.log');
  /** The nth connection, once the page has opened it. */
  const socket = async (index: number) => {
    const found = await eventually(
      () => sockets[index],
      (one) => one !== undefined,
    );
    if (found === undefined) throw new Error('the page has not connected');
    return found;
  };
  const at = (second: number) => `2026-11-26T10:00:0${second}.000000000Z`;

  before(async () => {
    await addPod(page, 'quiet');
    await page.routeWebSocket(/\/pods\/quiet\/log\?/, (route) => {
      sockets.push(route);
    });
  });
  beforeEach(async () => {
    sockets.length = 0;
    await page.goto(`${demo.url}/r/core/v1/pods/ns/default/quiet/logs`);
  });

  it('cases/21 shows the last state of a line with carriage returns, and a prompt without a newline', async () => {
    const stream = await socket(0);
    stream.send(Buffer.from(`${at(1)} start\n${at(2)} \r0% downloading`));
    for (const percent of ['5', '10', '15']) stream.send(Buffer.from(`\r${percent}% downloading`));
    await log().getByText('15% downloading').waitFor();
    expect(await log().textContent()).to.equal('start\n15% downloading');
    stream.send(Buffer.from(`\r\n${at(3)} Enter password: `));
    await log().getByText('Enter password:').waitFor();

    expect(await log().textContent()).to.equal('start\n15% downloading\nEnter password: ');
  });

  it('cases/09 goes on by itself after a connection that was lost, without doubles, and ends at code 1000', async () => {
    const first = await socket(0);
    first.send(Buffer.from(`${at(1)} one\n${at(2)} two\n${at(3)} thr`));
    await page.getByText('3 lines.').waitFor();
    await first.close({ code: 1011, reason: 'timeout of a proxy' });
    await page.getByText('The connection was lost. It is taken up again.').waitFor();
    const second = await socket(1);

    expect(new URL(second.url()).searchParams.get('sinceTime')).to.equal(at(2));
    expect(new URL(second.url()).searchParams.has('tailLines')).to.equal(false);
    second.send(Buffer.from(`${at(2)} two\n${at(3)} three\n`));
    await log().getByText('three').waitFor();
    expect(await log().textContent()).to.equal('one\ntwo\nthree\n');
    expect(await page.getByText('The log has ended.').count()).to.equal(0);
    await second.close({ code: 1000 });
    await page.getByText('3 lines. The log has ended.').waitFor();
    expect(sockets).to.have.lengthOf(2);
  });
});

/** Bounds of what a page asks for: requests, bytes and hops. No time is measured. */
import { expect } from 'chai';
import { demoInChromium } from './demo.ts';
import { Traffic } from './traffic.ts';

describe('the cold load of the console', () => {
  const { demo, browser } = demoInChromium('--users', '2');

  it('of the login page takes at most 8 requests and 60 KB', async () => {
    const page = await browser.newPage();
    const traffic = await Traffic.of(page);
    await page.goto(demo.url);
    await page.getByRole('button', { name: 'Log in', exact: true }).waitFor();
    await page.waitForLoadState('networkidle');

    expect(traffic.sent.length, `${traffic}`).to.be.within(4, 8);
    expect(traffic.bytes).to.be.within(20_000, 60_000);
    await page.close();
  });
});

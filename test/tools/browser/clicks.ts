import type { Page } from 'playwright-core';

/** Counts clicks in a page and the following ones. */
export async function countClicks(page: Page): Promise<() => number> {
  let clicks = 0;
  await page.exposeFunction('pressed', () => {
    clicks += 1;
  });
  const listens = "addEventListener('pointerdown', () => pressed(), true)";
  await page.addInitScript(listens);
  await page.evaluate(listens);
  return () => clicks;
}

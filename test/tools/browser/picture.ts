/** Pictures of pages for the documentation, taken by the tests that look at them. */
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';

export const pictures = fileURLToPath(new URL('../../../docs/screenshots/', import.meta.url));

/**
 * Takes the picture of a name again, with UPDATE_SCREENSHOT=1. Only existing pictures are taken: create an empty file to add one to a
 * page of the docs.
 */
export async function picture(page: Page, name: string, format: 'webp' | 'png' = 'webp'): Promise<void> {
  const plain = name
    .toLowerCase()
    .replaceAll('’', '')
    .replaceAll(/[^a-z0-9]+/g, '-');
  const path = join(pictures, `${plain}.${format}`);
  if (process.env.UPDATE_SCREENSHOT !== '1' || !existsSync(path)) return;
  const data = await screenshot(page, format);
  await writeFile(path, Buffer.from(data, 'base64'));
}

/** Takes a picture of the shown part of a page. @returns base64 */
export async function screenshot(page: Page, format: 'webp' | 'png' = 'webp'): Promise<string> {
  // The page of a suite is a proxy, and the session needs the page itself.
  const debug = await page.context().newCDPSession(page.mainFrame().page());
  const { data } = await debug.send('Page.captureScreenshot', { format, ...(format === 'webp' && { quality: 60 }) });
  await debug.detach();
  return data;
}

/** Opens a page that shows pictures side by side, each below its title. */
export async function panels(page: Page, of: readonly { title: string; image: string }[]): Promise<Page> {
  const figures = of.map(
    ({ title, image }, index) =>
      `<figure><figcaption>${index + 1}. ${title}</figcaption><img src="data:image/webp;base64,${image}"></figure>`,
  );
  const style = `body { margin: 0; display: flex; gap: 20px; padding: 20px; background: #eef1f5; font: 600 22px system-ui, sans-serif }
    figure { margin: 0; flex: 1 } figcaption { padding-bottom: 12px } img { width: 100%; border: 1px solid #c8d0da; border-radius: 12px }`;
  const tab = await page.context().newPage();
  await tab.setViewportSize({ width: 1280, height: 860 });
  await tab.setContent(`<!doctype html><style>${style}</style>${figures.join('')}`);
  return tab;
}

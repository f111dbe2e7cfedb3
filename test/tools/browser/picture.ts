/** Pictures of pages for the documentation, taken by the tests that look at them. */
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';

export const pictures = fileURLToPath(new URL('../../../docs/screenshots/', import.meta.url));

/**
 * With UPDATE_SCREENSHOT=1 the picture of that name becomes what the page shows. Only pictures that are there are taken again: a page
 * of the docs gets another one by an empty file of its name.
 */
export async function picture(page: Page, name: string, format: 'webp' | 'png' = 'webp'): Promise<void> {
  const plain = name
    .toLowerCase()
    .replaceAll('’', '')
    .replaceAll(/[^a-z0-9]+/g, '-');
  const path = join(pictures, `${plain}.${format}`);
  if (process.env.UPDATE_SCREENSHOT !== '1' || !existsSync(path)) return;
  // What a suite keeps stands for the page; the session wants the page itself.
  const debug = await page.context().newCDPSession(page.mainFrame().page());
  const { data } = await debug.send('Page.captureScreenshot', { format, ...(format === 'webp' && { quality: 60 }) });
  await debug.detach();
  await writeFile(path, Buffer.from(data, 'base64'));
}

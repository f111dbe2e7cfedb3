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
  // The page of a suite is a proxy, and the session needs the page itself.
  const debug = await page.context().newCDPSession(page.mainFrame().page());
  const { data } = await debug.send('Page.captureScreenshot', { format, ...(format === 'webp' && { quality: 60 }) });
  await debug.detach();
  await writeFile(path, Buffer.from(data, 'base64'));
}

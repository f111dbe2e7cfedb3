/** Pictures of pages for the documentation, taken by the tests that look at them. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';

export const pictures = fileURLToPath(new URL('../../../docs/screenshots/', import.meta.url));

/** With UPDATE_SCREENSHOT=1 the picture of that name becomes what the page shows. */
export async function picture(page: Page, name: string): Promise<void> {
  if (process.env.UPDATE_SCREENSHOT !== '1') return;
  // What a suite keeps stands for the page; the session wants the page itself.
  const debug = await page.context().newCDPSession(page.mainFrame().page());
  const { data } = await debug.send('Page.captureScreenshot', { format: 'webp', quality: 60 });
  await debug.detach();
  await mkdir(pictures, { recursive: true });
  await writeFile(
    join(
      pictures,
      `${name
        .toLowerCase()
        .replaceAll('’', '')
        .replaceAll(/[^a-z0-9]+/g, '-')}.webp`,
    ),
    Buffer.from(data, 'base64'),
  );
}

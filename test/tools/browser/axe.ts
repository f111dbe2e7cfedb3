import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { z } from 'zod';

/** The minified build: `axe.source` has twice its size, and each page that was loaded compiles it. */
const source = readFile(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

const violation = z.object({
  id: z.string(),
  help: z.string(),
  nodes: z.array(z.object({ html: z.string(), failureSummary: z.string() })),
});

/** Returns a line for each accessibility barrier of a page in its current state. */
export async function barriers(page: Page): Promise<string[]> {
  // The debugger runs the script, because the policy of the page refuses foreign scripts.
  if (!(await page.evaluate(`'axe' in window`))) await page.evaluate(`${await source};undefined`);
  // Transitions must end first, also those in the parts of plugins, because colours in between are not final.
  await page.evaluate(
    `const roots = (root) => [root, ...[...root.querySelectorAll('*')].flatMap(({ shadowRoot }) => (shadowRoot ? roots(shadowRoot) : []))];
    Promise.allSettled(roots(document).flatMap((root) => root.getAnimations())
      .filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity).map(({ finished }) => finished)).then(() => undefined)`,
  );
  // Without `resultTypes`, each passed element would be reported with its text, and without `selectors` with its path.
  const options = JSON.stringify({ runOnly: tags, resultTypes: ['violations'], selectors: false });
  const violations = violation.array().parse(await page.evaluate(`axe.run(document, ${options}).then(({ violations }) => violations)`));
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${help}: ${html.slice(0, 200)} ${failureSummary}`),
  );
}

/** Asserts that the page is free of barriers in both themes and on a phone, and no wider than the phone. */
export async function expectAccessible(page: Page): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await barriers(page), colorScheme).to.deep.equal([]);
  }
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await barriers(page), 'phone').to.deep.equal([]);
  expect(await page.evaluate('document.documentElement.scrollWidth')).to.equal(390);
}

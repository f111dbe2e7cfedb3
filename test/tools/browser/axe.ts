import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { z } from 'zod';

const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

const violation = z.object({
  id: z.string(),
  help: z.string(),
  nodes: z.array(z.object({ html: z.string(), failureSummary: z.string() })),
});

/** What keeps people with a disability from using the page as it stands, a line each. */
export async function barriers(page: Page): Promise<string[]> {
  // By the debugger: the policy of the page refuses what is not its own.
  if (!(await page.evaluate(`'axe' in window`))) await page.evaluate(axe.source);
  // A colour that is on its way to another one is seen by no one.
  await page.evaluate(
    `Promise.allSettled(document.getAnimations()
      .filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity).map(({ finished }) => finished)).then(() => undefined)`,
  );
  // Of what passes, each element would come along with its text.
  const options = JSON.stringify({ runOnly: tags, resultTypes: ['violations'] });
  const violations = violation.array().parse(await page.evaluate(`axe.run(document, ${options}).then(({ violations }) => violations)`));
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${help}: ${html.slice(0, 200)} ${failureSummary}`),
  );
}

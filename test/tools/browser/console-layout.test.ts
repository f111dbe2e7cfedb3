/** Layout of the pages about users and access at each width, also after their actions. */
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { loggedIn, press } from './demo.ts';
import { cutCells, misplaced } from './layout.ts';

const widths = [390, 768, 1280];

describe('the layout of the console', () => {
  const { demo, page } = loggedIn('admin', '/users');
  const atEachWidth = async (measure: (width: number) => Promise<void>) => {
    for (const width of widths) {
      await page.setViewportSize({ width, height: 800 });
      await measure(width);
    }
  };
  const hasItsPlace = () =>
    atEachWidth(async (width) => {
      expect(await misplaced(page), `at ${width}`).to.deep.equal([]);
    });

  it('N20 keeps the kubeconfig of a new certificate inside its card', async () => {
    await page.goto(`${demo.url}/kubeconfig`);
    await press(page, 'Make a certificate');
    await page.getByText('The key is shown once.').waitFor();
    await hasItsPlace();
  });

  it('N21 keeps rows of members with their buttons inside the page', async () => {
    await page.goto(`${demo.url}/groups/dev`);
    await page.getByRole('button', { name: 'Remove' }).first().waitFor();
    await hasItsPlace();
  });

  it('N22 cuts no cell of the users at 1280 pixels', async () => {
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.goto(`${demo.url}/users`);
    await page.getByText('Corporate directory').first().waitFor();
    expect(await cutCells(page)).to.deep.equal([]);
  });

  it('N23 puts the action of a form before Cancel, to the eye and to the keyboard', async () => {
    for (const [path, action] of [
      ['/users/new', 'Create the user'],
      ['/bindings/new', 'Create the binding'],
    ] as const) {
      await page.goto(`${demo.url}${path}`);
      await page.getByRole('button', { name: action }).focus();
      await page.keyboard.press('Tab');
      expect(await page.evaluate('document.activeElement.textContent'), path).to.equal('Cancel');
      await hasItsPlace();
    }
  });

  it('N24 aligns the chips of a card', async () => {
    await page.goto(`${demo.url}/access`);
    await page.locator('.card .chip').nth(1).waitFor();
    await page.setViewportSize({ width: 1280, height: 800 });
    const tops = await eventually(
      () =>
        page.evaluate<number[]>(
          `[...document.querySelectorAll('.card .chips')].map(({ children: [one, other] }) => other && other.offsetTop - one.offsetTop).filter((top) => top !== undefined)`,
        ),
      ({ length }) => length > 0,
    );
    expect(new Set(tops)).to.deep.equal(new Set([0]));
    await hasItsPlace();
  });

  it('N25 compares two revisions across the screen', async () => {
    await page.goto(`${demo.url}/r/apps/v1/deployments/ns/payments/checkout`);
    await press(page, 'Roll back');
    const comparison = page.getByRole('dialog').locator('.code-frame');
    for (const width of [390, 1280, 1920]) {
      await page.setViewportSize({ width, height: 900 });
      const box = await comparison.boundingBox();
      expect(box?.width, `at ${width}`).to.be.at.least(width - 100);
      expect(await misplaced(page), `at ${width}`).to.deep.equal([]);
    }
  });
});

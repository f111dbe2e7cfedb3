/** The field of the namespace in the top bar: a combobox that filters, and takes names that the user may not list. */
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { barriers } from './axe.ts';
import { loggedIn, namespaceField, press } from './demo.ts';
import { create } from './kind-pages.ts';

const teams = 2_000;
const atATime = 25;

describe('the field of the namespace', () => {
  const { demo, page } = loggedIn('admin', '/', { users: 2 });
  const field = () => namespaceField(page);
  const options = () => page.getByRole('listbox', { name: 'Suggestions for Namespace' }).getByRole('option');
  const list = (namespace = '') => `${demo.url}/r/core/v1/pods${namespace && `/ns/${namespace}`}`;

  before(async () => {
    for (let next = 0; next < teams; next += atATime)
      await Promise.all(
        Array.from({ length: atATime }, (_, index) => create(demo, 'api/v1/namespaces', { metadata: { name: `team-${next + index}` } })),
      );
  });

  it('shows the first of 2,000 namespaces, and says how many more there are', async () => {
    await page.goto(list());
    await field().click();
    await page.getByText(/^1,9\d\d more match: type to find them\.$/).waitFor();

    expect(await options().count()).to.equal(50);
    expect(await options().first().innerText()).to.equal('All namespaces');
    expect(await barriers(page)).to.deep.equal([]);
  });

  it('finds one by a part of its name, the beginning first, and opens it with Enter', async () => {
    await field().pressSequentially('team-19');
    await page.getByRole('option', { name: 'team-19', exact: true, selected: true }).waitFor();
    expect(await field().getAttribute('aria-activedescendant')).to.equal(await options().first().getAttribute('id'));
    await field().pressSequentially('87');
    await page.getByRole('option', { name: 'team-1987', exact: true, selected: true }).waitFor();
    await field().press('Enter');
    await page.waitForURL(list('team-1987'));

    expect(await field().inputValue()).to.equal('team-1987');
    expect(await options().count()).to.equal(0);
  });

  it('moves by arrow keys, and keeps the namespace on Escape and when it is left', async () => {
    await field().press('Alt+ArrowDown');
    await options().first().waitFor();
    await field().fill('shop');
    await page.getByRole('option', { name: 'shop', exact: true, selected: true }).waitFor();
    await field().press('Escape');
    expect(await field().inputValue()).to.equal('team-1987');
    await field().fill('shop');
    await field().press('Tab');
    expect(await field().inputValue()).to.equal('team-1987');
    await field().fill('paym');
    await field().press('ArrowDown');
    await page.getByRole('option', { name: 'paym not in the list', selected: true }).waitFor();
    await field().press('ArrowUp');
    await field().press('Enter');
    await page.waitForURL(list('payments'));
  });

  it('leads back to all namespaces', async () => {
    await field().click();
    await options().filter({ hasText: 'All namespaces' }).click();
    await page.waitForURL(list());

    expect(await field().inputValue()).to.equal('All namespaces');
  });

  it('stays inside the top bar of a phone beside the messages, in each language', async () => {
    await create(demo, 'api/v1/namespaces/default/configmaps', { metadata: { name: 'gone' } });
    await page.goto(`${demo.url}/r/core/v1/configmaps/ns/default/gone`);
    await press(page, 'More actions');
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByLabel('Type gone to confirm').fill('gone');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete ConfigMap gone' }).click();
    await page.getByRole('button', { name: 'Messages' }).waitFor();
    for (const [language, next] of [
      ['Language', 'Deutsch'],
      ['Sprache', '中文'],
      ['语言', 'English'],
    ] as const)
      for (const width of [390, 320]) {
        await page.setViewportSize({ width, height: 780 });
        const { scrolled, cut } = await page.evaluate<{ scrolled: number; cut: number }>(
          `({ scrolled: document.scrollingElement.scrollWidth, cut: document.querySelector('.top').scrollWidth - document.querySelector('.top').clientWidth })`,
        );
        expect([scrolled, cut], `${language} at ${width}`).to.deep.equal([width, 0]);
        if (width === 320) {
          await press(page, language);
          await page.getByRole('menuitemradio', { name: next }).click();
          await page.getByRole('menuitemradio', { name: next }).waitFor({ state: 'hidden' });
        }
      }
    await page.setViewportSize({ width: 1280, height: 800 });
  });
});

describe('the field of the namespace for a user who may list one', () => {
  const { demo, page, visitor } = loggedIn('viewer', '/r/core/v1/pods/ns/shop', { users: 2 });

  it('takes a name that is typed, and the page says which right is missing', async () => {
    await namespaceField(page).fill('payments');
    await page.getByRole('option', { name: 'payments not in the list', selected: true }).waitFor();
    await namespaceField(page).press('Enter');
    await page.waitForURL(`${demo.url}/r/core/v1/pods/ns/payments`);
    await page.getByText('list pods -n payments').first().waitFor();
    await eventually(
      () => namespaceField(page).inputValue(),
      (text) => text === 'payments',
    );
    visitor.takeComplaints();
  });
});

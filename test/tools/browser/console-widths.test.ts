/** Width of each page of the route table, in each language: it fits a phone, and a desktop cuts no text. */
import { expect } from 'chai';
import { loggedIn } from './demo.ts';
import { cutTexts, misplaced } from './layout.ts';
import { routeNames, routePaths } from './route-pages.ts';

const widths = [390, 320];

describe('the pages of the route table', () => {
  const { demo, page } = loggedIn('admin', '/', { users: 5 });
  let named: (path: string) => string;
  before(async () => {
    named = await routeNames(demo);
  });

  for (const language of ['en', 'de', 'zh'])
    for (const path of routePaths)
      it(`fit a phone, and cut no text: ${path} in ${language}`, async () => {
        await page.evaluate(`localStorage.setItem('atrium-language', '${language}')`);
        await page.goto(demo.url + named(path));
        await page.locator('main h1').first().waitFor();
        await page.locator('main .skeleton').first().waitFor({ state: 'detached' });

        await page.setViewportSize({ width: 1280, height: 800 });
        expect(await cutTexts(page)).to.deep.equal([]);
        for (const width of widths) {
          await page.setViewportSize({ width, height: 780 });
          expect(await misplaced(page), `at ${width}`).to.deep.equal([]);
          expect(await page.evaluate('document.scrollingElement.scrollWidth'), `at ${width}`).to.be.at.most(width);
        }
      });
});

/** Lighthouse scores of the first pages. The performance score depends on the machine, so it is printed and never asserted. */
import { expect } from 'chai';
import { z } from 'zod';
import { forSuite } from '../../support/for-suite.ts';
import { SharedChromium } from '../browser/chromium.ts';
import { Demo, press } from '../browser/demo.ts';
import { audit } from './audit.ts';

const listed = z.object({ items: z.array(z.object({ metadata: z.object({ name: z.string() }) })) });

describe('the pages of the console in Lighthouse', () => {
  const demo = forSuite(() => Demo.start({ users: 200 }));

  for (const form of ['phone', 'desktop'] as const)
    describe(`on a ${form}`, () => {
      // A session skips the login page, so two browsers are needed.
      const stranger = forSuite(() => SharedChromium.start());
      const manager = forSuite(() => SharedChromium.start());
      before(async () => demo.logIn(await manager.context.newPage(), 'manager'));

      async function look(url: string, { port }: SharedChromium, maxBytes: number, left: readonly string[] = []): Promise<void> {
        const { scores, imperfect, bytes, blocking, url: shown } = await audit(url, port, form, left);
        console.log(
          `        ${JSON.stringify(scores)}, ${Math.round(bytes / 1024)} KiB; ${imperfect.join(', ') || 'nothing to do better'}`,
        );

        expect(shown).to.equal(url);
        const { performance, ...steady } = scores;
        expect(performance).to.be.within(1, 100);
        expect(Object.keys(steady)).to.have.members(['accessibility', 'best-practices', 'seo']);
        for (const [category, score] of Object.entries(steady)) expect(score, `${category}: ${imperfect}`).to.be.at.least(95);
        expect(blocking.filter((address) => !address.endsWith('.css'))).to.deep.equal([]);
        expect(blocking.length).to.be.at.most(1);
        expect(bytes).to.be.within(1, maxBytes);
      }

      it('have good scores: start page', () => look(`${demo.url}/`, stranger, 60_000));

      it('have good scores: login page', async () => {
        const page = await stranger.context.newPage();
        await page.goto(demo.url);
        await press(page, 'Log in');
        await page.locator('#email').waitFor();

        // The audit fetches robots.txt from the page, which its policy forbids.
        await look(page.url(), stranger, 12_000, ['robots-txt']);
      });

      it('have good scores: list of users', () => look(`${demo.url}/users`, manager, 50_000));

      it('have good scores: page of a user', async () => {
        const headers = { authorization: `Bearer ${demo.person('manager').token}` };
        const found = listed.parse(await (await fetch(`${demo.url}/auth/v2/users?search=jane@example.com`, { headers })).json());

        await look(`${demo.url}/users/${found.items[0]?.metadata.name}`, manager, 40_000);
      });
    });
});

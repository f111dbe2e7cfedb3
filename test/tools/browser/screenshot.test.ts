import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { demoInChromium } from './demo.ts';
import { pictures } from './picture.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const picture = 'docs/images/console.png';

/** With UPDATE_SCREENSHOT=1 the picture in the repository becomes the one that was taken. */
describe('the picture of the README', () => {
  const { browser, demo } = demoInChromium('--users', '5');

  it('shows the users of the demo after login, and is small', async () => {
    const page = await browser.newPage({ viewport: { width: 1000, height: 640 }, colorScheme: 'light' });
    await demo.logIn(page, 'manager', '/users');
    await page.getByRole('link', { name: 'Max Manager', exact: true }).waitFor();

    const taken = await page.screenshot();
    if (process.env.UPDATE_SCREENSHOT === '1') {
      await mkdir(dirname(join(root, picture)), { recursive: true });
      await writeFile(join(root, picture), taken);
    }

    expect(taken.subarray(1, 4).toString()).to.equal('PNG');
    expect((await stat(join(root, picture))).size).to.be.lessThan(150_000);
    const sizes = await Promise.all((await readdir(pictures)).map(async (name) => (await stat(join(pictures, name))).size));
    expect(sizes.reduce((sum, size) => sum + size, 0)).to.be.lessThan(3_000_000);
    expect(await readFile(join(root, 'README.md'), 'utf8')).to.include(`](${picture})`);
  });
});

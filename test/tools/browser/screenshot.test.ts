import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { pictures } from './picture.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

describe('the pictures of the console', () => {
  it('open the README, and are small together', async () => {
    const sizes = await Promise.all((await readdir(pictures)).map(async (name) => (await stat(join(pictures, name))).size));
    const [, first = ''] = /^!\[[^\]]+\]\((.+)\)$/m.exec(await readFile(join(root, 'README.md'), 'utf8')) ?? [];

    expect(sizes.reduce((sum, size) => sum + size, 0)).to.be.within(1, 3_000_000);
    expect(first).to.match(/^docs\/screenshots\//);
    expect((await stat(join(root, first))).isFile()).to.equal(true);
  });
});

/**
 * Documentation as a site: `npm run site`. mkdocs fails for a page outside of the navigation, and for a link or heading that is not there.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';

const run = promisify(execFile);

describe('the site of the documentation', () => {
  let directory: string;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'atrium-site-'));
    await run(process.execPath, ['scripts/site.ts', 'build', '--site-dir', directory]);
  });
  after(() => rm(directory, { recursive: true }));

  it('has a page for each page of docs/, in the navigation of the first one', async () => {
    const index = await readFile(join(directory, 'index.html'), 'utf8');
    for (const folder of ['', 'contract/', 'decisions/'])
      for (const name of await readdir(`docs/${folder}`)) {
        if (!name.endsWith('.md')) continue;
        const page = `${folder}${name.replace(/README\.md$/, 'index.md').replace(/\.md$/, '.html')}`;
        expect(index, page).to.contain(`href="${page}"`);
        expect(await readFile(join(directory, page), 'utf8')).to.contain('</html>');
      }
  });

  it('searches the text of all pages', async () => {
    const { docs } = JSON.parse(await readFile(join(directory, 'search/search_index.json'), 'utf8')) as { docs: { location: string }[] };
    expect(docs.map(({ location }) => location)).to.include.members(['users.html#add-users-from-git', 'contract/resources.html#user']);
  });

  it('asks no other host for scripts, styles, fonts or pictures', async () => {
    const index = await readFile(join(directory, 'index.html'), 'utf8');
    expect(index.match(/(?:src|href)="https?:[^"]*\.(?:js|css|woff2?|png|svg)"/g)).to.equal(null);
  });
});

import { expect } from 'chai';
import { type Page, pages } from './page.ts';
import { Reader } from './reader.ts';
import { shells } from './shell.ts';

const languages = ['md', 'sh', 'yaml', 'json', 'js', 'ts', 'html', 'text', 'go', 'python', 'nginx', 'regex'];
const isSkipped = ({ place }: Page['commands'][number]) => place !== undefined && 'skip' in place;

describe('each page of the documentation', () => {
  for (const { path, commands, blocks } of pages())
    describe(path, () => {
      it('states the place of all its commands', () => {
        const unmarked = commands.filter(({ place }) => place === undefined).map(({ line }) => `${path}:${line}`);

        expect(unmarked, 'put <!-- docs: demo -->, <!-- docs: cluster --> or <!-- docs: skip: REASON --> before them').to.deep.equal([]);
      });

      it('has commands without comments, so that they can be pasted into any shell', () => {
        const commented = commands.flatMap(({ line, text }) =>
          text.split('\n').flatMap((one, index) => (/(^|\s)#( |$)/.test(one) ? [`${path}:${line + index + 1}: ${one}`] : [])),
        );

        expect(commented, 'zsh takes # for a command: explain above or below').to.deep.equal([]);
      });

      it('fences its code, in a known language', () => {
        const others = blocks.filter(({ language = '' }) => !languages.includes(language));

        expect(others.map(({ line, language = 'indented' }) => `${path}:${line} ${language}`)).to.deep.equal([]);
      });
    });

  after(() => {
    const skipped = pages().flatMap(({ path, commands }) => commands.filter(isSkipped).map((one) => ({ path, ...one })));
    const reasons = new Set(skipped.map(({ path, place }) => (place && 'skip' in place ? `${path}: ${place.skip}` : path)));
    console.log(`    ${skipped.length} blocks are not run:\n      ${[...reasons].join('\n      ')}`);
  });
});

describe('the page of plugins', () => {
  const [page] = pages().filter(({ path }) => path === 'docs/plugins.md');

  it('has no commands that are not run', () => {
    expect(page?.commands.filter(isSkipped)).to.deep.equal([]);
  });

  it("works as printed with the machine's own Node.js, as a newcomer has it", async () => {
    const path = (process.env.PATH ?? '').split(':').filter((folder) => !folder.includes('node_modules'));
    const reader = await Reader.start('bash', path.join(':'));
    const given = new AbortController();
    try {
      if (page) expect(await reader.follow(page, given.signal)).to.deep.equal([]);
    } finally {
      given.abort();
      await reader.stop();
    }
  });
});

for (const shell of shells)
  describe(`the commands of the documentation in ${shell}`, () => {
    let reader: Reader;
    let given: AbortController;
    before(async () => {
      reader = await Reader.start(shell);
    });
    beforeEach(() => {
      given = new AbortController();
    });
    afterEach(() => given.abort());
    after(() => reader?.stop());

    for (const page of pages())
      if (page.commands.some((commands) => !isSkipped(commands)))
        it(`work as printed: ${page.path}`, async () => {
          expect(await reader.follow(page, given.signal)).to.deep.equal([]);
        });
  });

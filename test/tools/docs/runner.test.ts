import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { parsePage } from './page.ts';
import { differences, runCommands, shells } from './shell.ts';

const page = (...lines: string[]) => parsePage('docs/a.md', ['<!-- docs: demo -->', '', ...lines].join('\n'));
const block = (text: string, shown?: string) => [
  '```sh',
  text,
  '```',
  '',
  ...(shown === undefined ? [] : ['```text output', shown, '```', '']),
];

describe('the runner of the documentation', () => {
  let directory: string;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'atrium-docs-'));
  });
  after(() => rm(directory, { recursive: true }));

  for (const shell of shells)
    describe(`in ${shell}`, () => {
      const run = async (...lines: string[]) => {
        const environment = { PATH: process.env.PATH ?? '', HOME: directory };
        const ran = await runCommands(shell, page(...lines).commands, { directory, environment }, AbortSignal.timeout(120_000));
        return ran.flatMap(differences);
      };

      it('runs all blocks in one session, and compares their output with the page', async () => {
        expect(await run(...block('A=1'), ...block('echo "first $A"; echo between; echo second', 'first 1\nsec…'))).to.deep.equal([]);
        expect(await run(...block('echo other', 'first'))).to.deep.equal(['the page shows "first" first, it wrote "other"']);
        expect(await run(...block('echo first; echo third', 'first\nsecond')))
          .to.have.length(1)
          .and.have.property('0')
          .that.includes('"second"');
      });

      it('reports a failed command by the line of its block', async () => {
        const error = await run(...block('true'), ...block('echo before\nfalse\necho after')).catch(String);

        expect(error).to.include('line 7: a command ended with 1').and.include('before').and.not.include('it wrote\nafter');
      });

      it('reports a refusal that the page does not show', async () => {
        const refused = 'echo \'{"kind":"Status","status":"Failure"}\'';

        expect(await run(...block(refused))).to.have.length(1);
        expect(await run(...block(refused, '{…"Failure"…'))).to.deep.equal([]);
      });
    });

  it('assigns a place to each block, and finds code that is not fenced', () => {
    const { commands, blocks } = page(
      ...block('a'),
      '<!-- docs: skip: needs a moon -->',
      ...block('b'),
      '',
      '    c',
      '',
      '- item',
      '',
      '    d',
    );

    expect(commands.map(({ place }) => place)).to.deep.equal([{ on: 'demo' }, { skip: 'needs a moon' }]);
    expect(blocks.map(({ language, line }) => `${language} ${line}`)).to.deep.equal(['sh 3', 'sh 8', 'undefined 13']);
  });
});

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { z } from 'zod';

const root = new URL('../../../', import.meta.url);
const walksSchema = z.record(
  z.string(),
  z.object({ files: z.number(), changes: z.number(), back: z.number(), derived: z.record(z.string(), z.number()) }),
);
/** Deviation for which the table need not be written again (`node scripts/walks.ts --write`). */
const tolerance = 0.2;

/** Values that a request must derive again, because time has passed or another login has begun. */
const further: Record<string, Record<string, number>> = {
  // Before the exchange, after it, and for the claims of the new tokens.
  refresh: { account: 3 },
};

/** Returns the figures of `docs/architecture.md` by the name of the request. */
function documented(): Record<string, number[]> {
  const rows = readFileSync(new URL('docs/architecture.md', root), 'utf8').matchAll(/^\| ([a-z-]+) \| (\d+) \| (\d+) \| (\d+) \|/gm);
  return Object.fromEntries(Array.from(rows, ([, name = '', ...figures]) => [name, figures.map(Number)]));
}

describe('walks of requests', () => {
  let walks: z.output<typeof walksSchema>;

  before(async () => {
    const script = fileURLToPath(new URL('scripts/walks.ts', root));
    const { stdout } = await promisify(execFile)(process.execPath, [script, '--json']);
    walks = walksSchema.parse(JSON.parse(stdout));
  });

  it('derive issuer, identity, subject and account once', () => {
    for (const [name, { derived }] of Object.entries(walks))
      for (const [value, count] of Object.entries(derived)) expect(count, `${name}: ${value}`).to.be.at.most(further[name]?.[value] ?? 1);
  });

  it('agree with the table of docs/architecture.md', () => {
    const table = documented();
    expect(Object.keys(table)).to.have.members(Object.keys(walks));
    for (const [name, { files, changes, back }] of Object.entries(walks))
      for (const [index, measured] of [files, changes, back].entries())
        expect(table[name]?.[index], `${name}: ${files} files, ${changes} changes, ${back} back`).to.be.closeTo(
          measured,
          measured * tolerance,
        );
  });
});

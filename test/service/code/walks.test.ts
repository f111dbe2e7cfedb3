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

/** Files that a request enters, changes from file to file, and returns to a file entered before. */
type Figures = readonly [files: number, changes: number, back: number];

/**
 * Bounds by the name of a request. No script writes them: a shorter way lowers its bound by hand, and none is raised for a longer way. A goal stands beside
 * a bound that does not reach it yet.
 */
const bounds: Readonly<Record<string, { readonly bound: Figures; readonly goal?: Figures }>> = {
  'users-list': { bound: [37, 82, 45], goal: [35, 90, 50] },
  'users-cookie': { bound: [40, 89, 49] },
  refresh: { bound: [56, 132, 76], goal: [40, 120, 70] },
  callback: { bound: [75, 298, 223], goal: [55, 230, 150] },
  'login-page': { bound: [60, 299, 239], goal: [50, 300, 230] },
  // Sorting users with random names takes up to four changes more: 214 / 153 to 218 / 157 without another way.
  'first-request': { bound: [61, 218, 157], goal: [45, 120, 75] },
  approval: { bound: [59, 319, 260], goal: [45, 200, 150] },
  'patch-user': { bound: [58, 167, 109] },
  'static-file': { bound: [22, 36, 14] },
  'plugin-file': { bound: [29, 60, 31] },
  kubernetes: { bound: [46, 120, 74] },
};

/** Values that a request must derive again, because time has passed or another login has begun. */
const further: Record<string, Record<string, number>> = {
  // Before the exchange, and for the claims of the new tokens.
  refresh: { account: 2 },
};

/** Returns the figures and goals of `docs/architecture.md` by the name of the request. */
function documented(): Record<string, { figures: number[]; goal: string }> {
  const page = readFileSync(new URL('docs/architecture.md', root), 'utf8');
  const rows = page.matchAll(/^\| ([a-z-]+) \| (\d+) \| (\d+) \| (\d+) \| (.*) \|$/gm);
  return Object.fromEntries(
    Array.from(rows, ([, name = '', files, changes, back, goal = '']) => [
      name,
      { figures: [files, changes, back].map(Number), goal: goal.trim() },
    ]),
  );
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

  it('stay within their bounds', () => {
    expect(Object.keys(bounds)).to.have.members(Object.keys(walks));
    for (const [name, { files, changes, back }] of Object.entries(walks))
      for (const [index, measured] of [files, changes, back].entries())
        expect(measured, `${name}: ${files} files, ${changes} changes, ${back} back`).to.be.at.most(bounds[name]?.bound[index] ?? 0);
  });

  it('agree with the table of docs/architecture.md', () => {
    const table = documented();
    expect(Object.keys(table)).to.have.members(Object.keys(walks));
    for (const [name, { goal = [] }] of Object.entries(bounds)) expect(table[name]?.goal, name).to.equal(goal.join(' / '));
    for (const [name, { files, changes, back }] of Object.entries(walks))
      for (const [index, measured] of [files, changes, back].entries())
        expect(table[name]?.figures[index], `${name}: ${files} files, ${changes} changes, ${back} back`).to.be.closeTo(
          measured,
          measured * tolerance,
        );
  });
});

/**
 * Prints how requests travel through the service and its packages: the files that each one enters, the changes from file to file, the
 * returns to a file entered before, and how often the request derives issuer, identity, subject and account. Caches and watches
 * change the way: each journey is repeated until its shortest trace stays the shortest. `--json` prints one object, `--write`
 * writes the table of docs/architecture.md, `--files` also prints the files in the order in which they are entered, `--steps` the functions.
 * Names of journeys select them.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Journey } from './journeys.ts';
import { type Trace, traced } from './tracer.ts';

const { startJourneys } = await import('./journeys.ts');

/** Functions that derive a value of the login. */
const derivations: Readonly<Record<string, readonly string[]>> = {
  issuer: ['issuer/issuers.ts of'],
  identity: ['issuer/claims.ts identityOf'],
  subject: ['issuer/verified-login.ts constructor'],
  account: ['users/record/lookup.ts ofLogin', 'sessions/account-state.ts accountOf'],
};

const derivedIn = ({ steps }: Trace): Record<string, number> =>
  Object.fromEntries(
    Object.entries(derivations).map(([value, functions]) => [
      value,
      steps.filter(({ file, name }) => functions.includes(`${file} ${name}`)).length,
    ]),
  );

interface Walk {
  files: number;
  changes: number;
  back: number;
  derived: Record<string, number>;
}

const walkOf = (trace: Trace): Walk => ({ files: trace.files.size, changes: trace.changes, back: trace.back, derived: derivedIn(trace) });

/** Watches report the changes of the last request in this time. */
const quietMs = 50;
/** Traces in a row that are no shorter than the shortest one. */
const enough = 12;

/** The embedded cluster answers in this process, too: `/` must be the whole path. */
const isAt = (path: string, url = ''): boolean => url === path || (path !== '/' && url.startsWith(path));

/** Waits until the watches are quiet. On a busy machine the timer is late, and so are their events. */
async function untilQuiet(): Promise<void> {
  for (let left = 20; left > 0; left -= 1) {
    const begun = performance.now();
    await sleep(quietMs);
    if (performance.now() - begun < 2 * quietMs) return;
  }
}

async function shortestTrace({ method, path, ask }: Journey): Promise<Trace> {
  let shortest: Trace | undefined;
  for (let longer = 0; shortest === undefined || longer < enough; longer += 1) {
    await untilQuiet();
    const trace = await traced((incoming) => incoming.method === method && isAt(path, incoming.url), ask);
    if (shortest !== undefined && trace.changes >= shortest.changes) continue;
    shortest = trace;
    longer = 0;
  }
  return shortest;
}

function print(name: string, trace: Trace): void {
  const { files, changes, back, derived } = walkOf(trace);
  const times = Object.entries(derived).map(([value, count]) => `${value} ${count}`);
  console.log(`walk ${`${name}:`.padEnd(13)} ${files} files, ${changes} changes, ${back} back; derives ${times.join(', ')}`);
  if (process.argv.includes('--files')) console.log([...trace.files].map((file) => `  ${file}`).join('\n'));
  if (process.argv.includes('--steps')) console.log(stretchesOf(trace).join('\n'));
}

/** Returns a line for each stay in a file, with the functions entered there. */
function stretchesOf({ steps }: Trace): string[] {
  const lines: string[] = [];
  for (const [index, { file, name }] of steps.entries()) {
    if (file === steps[index - 1]?.file) lines.push(`${lines.pop()} ${name}`);
    else lines.push(`  ${file}: ${name}`);
  }
  return lines;
}

/** Replaces the figures of each request, and keeps the goal. */
function writeTable(): void {
  const page = new URL('../docs/architecture.md', import.meta.url);
  const text = readFileSync(page, 'utf8').replaceAll(/^\| ([a-z-]+) (?:\| \d+ ){3}/gm, (row, name: string) => {
    const walk = walks[name];
    return walk === undefined ? row : `| ${name} | ${walk.files} | ${walk.changes} | ${walk.back} `;
  });
  writeFileSync(page, text);
}

const { journeys, stop } = await startJourneys();
const walks: Record<string, Walk> = {};
const isJSON = process.argv.includes('--json');
const names = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const unknown = names.filter((given) => !journeys.some(({ name }) => name === given));
if (unknown.length > 0) throw new Error(`no journey is named ${unknown.join(' or ')}: ${journeys.map(({ name }) => name).join(', ')}`);
const selected = journeys.filter(({ name }) => names.includes(name));
for (const journey of selected.length > 0 ? selected : journeys) {
  const trace = await shortestTrace(journey);
  walks[journey.name] = walkOf(trace);
  if (!isJSON) print(journey.name, trace);
}
if (isJSON) console.log(JSON.stringify(walks));
if (process.argv.includes('--write')) writeTable();
await stop();
process.exit();

/**
 * Measures the time for which a parser holds the event loop, for every hostile text. Ends with 1 if a text takes more than 20 ms.
 *
 * node bench/parsers.ts
 */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

const limitMs = 20;

const measured = z.object({ parser: z.string(), ms: z.number(), text: z.string(), length: z.number() });
const program = fileURLToPath(new URL('../test/service/code/parsers/measure.ts', import.meta.url));
const lines = execFileSync(process.execPath, [program], { encoding: 'utf8', maxBuffer: 2 ** 24 })
  .trim()
  .split('\n');
const slow = lines.map((line) => measured.parse(JSON.parse(line))).filter(({ ms }) => ms > limitMs);
for (const { parser, ms, text, length } of slow) console.log(`${parser}: ${ms.toFixed(1)} ms for ${length} of ${text}`);
console.log(`${lines.length} parsers, ${slow.length} of them slow`);
process.exit(slow.length === 0 ? 0 : 1);

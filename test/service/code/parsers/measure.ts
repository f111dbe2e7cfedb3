/**
 * Feeds every parser with every hostile text, and prints a line of JSON for each parser with the slowest text.
 * A text that takes longer by the wall clock is measured by the CPU time of the process, which other programs of the machine do not change.
 */
import { type HostileText, hostileRuns, hostileTexts, hostileValues } from './hostile-texts.ts';
import type { Parser } from './parser.ts';
import { parsers } from './parsers.ts';

const limitMs = 20;
/** Garbage collection and the compiler also take time, so the best of several attempts counts. */
const attempts = 16;
/** Divisors of the full length. Quadratic cost shows with the shorter text, instead of after hours. */
const parts = [32, 1];

async function feed(parse: Parser['parse'], text: string): Promise<void> {
  try {
    await parse(text);
  } catch {
    // The parser has refused the text.
  }
}

async function elapsed(parse: Parser['parse'], text: string): Promise<number> {
  const before = performance.now();
  await feed(parse, text);
  return performance.now() - before;
}

async function costOf(parse: Parser['parse'], text: string): Promise<number> {
  const before = process.cpuUsage();
  await feed(parse, text);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

async function bestOf(parse: Parser['parse'], text: string): Promise<number> {
  // The event loop is never held for longer than the wall clock shows, and reading the CPU time costs more than most parsers.
  let best = await elapsed(parse, text);
  for (let attempt = 0; attempt < attempts && best > limitMs; attempt += 1) {
    best = Math.min(best, await costOf(parse, text));
    // The text is too slow by far.
    if (attempt > 0 && best > 10 * limitMs) break;
  }
  return best;
}

function textsOf({ kind }: Parser): readonly HostileText[] {
  if (kind === 'json text') return hostileRuns;
  if (kind === 'json value') return hostileValues;
  return kind === 'json' ? [...hostileValues, ...hostileTexts] : hostileTexts;
}

const fitting = (text: string, kind: Parser['kind'], room: number): string => {
  if (kind !== 'json text') return text;
  const escaped = JSON.stringify(text).slice(1, -1);
  return escaped.length <= room ? escaped : JSON.stringify(text.slice(0, Math.floor((text.length * room) / escaped.length))).slice(1, -1);
};

const only = process.argv[2] ?? '';
for (const parser of parsers.filter(({ name }) => name.includes(only))) {
  let worst = { ms: 0, text: '', length: 0 };
  // The first use may fill caches.
  for (const frame of parser.frames ?? []) await feed(parser.parse, frame.join('a'));
  for (const [before, after] of parser.frames ?? [['', '']]) {
    for (const { name, of } of textsOf(parser)) {
      for (const part of parts) {
        const room = Math.floor(parser.limit / part) - before.length - after.length;
        if (room <= 0) continue;
        // A slow parser shows at a fraction of the length.
        const text = `${before}${fitting(of(room), parser.kind, room)}${after}`;
        const ms = await bestOf(parser.parse, text);
        if (ms > worst.ms) worst = { ms, text: `${before.slice(-20)} ${name}`, length: text.length };
        if (ms > limitMs) break;
      }
    }
  }
  process.stdout.write(`${JSON.stringify({ parser: parser.name, ...worst })}\n`);
}
process.exit(0);

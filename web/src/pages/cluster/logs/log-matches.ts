/** Places of a text that is searched for, in lines of a log. */
import { folded } from '@atrium/objects/folded.ts';

/** Characters that are folded together: a letter with its marks, or blanks. */
const units = /\s+|\P{M}[\p{M}\p{Default_Ignorable_Code_Point}]*|\p{M}+/gu;

/** Yields the begin and the end of each match. @param wanted folded */
export function* matchesIn(text: string, wanted: string): Generator<[begin: number, end: number]> {
  let start = 0;
  for (const line of text.split('\n')) {
    const found = folded(line);
    if (found.includes(wanted)) {
      const isPlain = found === line.toLowerCase() && found.length === line.length;
      for (const [begin, end] of isPlain ? placesIn(found, wanted) : placesOfUnits(line, wanted)) yield [start + begin, start + end];
    }
    start += line.length + 1;
  }
}

function* placesIn(text: string, wanted: string): Generator<[begin: number, end: number]> {
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) yield [at, at + wanted.length];
}

/** Finds places where a folded text has another length than its original. */
function* placesOfUnits(line: string, wanted: string): Generator<[begin: number, end: number]> {
  let text = '';
  const [begins, ends]: [number[], number[]] = [[], []];
  for (const { 0: unit, index } of line.matchAll(units)) {
    const part = folded(unit);
    for (let count = 0; count < part.length; count += 1) {
      begins.push(index);
      ends.push(index + unit.length);
    }
    text += part;
  }
  for (const [begin, end] of placesIn(text, wanted)) yield [begins[begin] ?? 0, ends[end - 1] ?? 0];
}

import { wantedText } from '@atrium/objects/folded.ts';
import { expect } from 'chai';
import { matchesIn } from '../../../web/src/pages/cluster/logs/log-matches.ts';

const rows: [text: string, typed: string, ...marked: string[]][] = [
  ['Error: no ERROR\nan error', 'error', 'Error', 'ERROR', 'error'],
  ['aaa', 'aa', 'aa', 'aa'],
  ['none', 'error'],
  ['İ Straße\nerror', 'ERROR', 'error'],
  ['İ error', 'error', 'error'],
  ['Straße strasse', 'STRASSE', 'Straße', 'strasse'],
  ['straße', 'ras', 'raß'],
  ['zoe\u0308 ZOË', 'zoë', 'zoe\u0308', 'ZOË'],
  ['a  b a\tb', 'a b', 'a  b', 'a\tb'],
  ['οδος ΟΔΟΣ', 'οδοσ', 'οδος', 'ΟΔΟΣ'],
  ['ＥＲＲＯＲ', 'error', 'ＥＲＲＯＲ'],
  ['er\u00adror', 'error', 'er\u00adror'],
  ['👍 done 👍', '👍', '👍', '👍'],
];

describe('marks of a search in a log', () => {
  for (const [text, typed, ...marked] of rows)
    it(`mark ${JSON.stringify(typed)} in ${JSON.stringify(text)}`, () => {
      expect([...matchesIn(text, wantedText(typed))].map(([begin, end]) => text.slice(begin, end))).to.deep.equal(marked);
    });
});

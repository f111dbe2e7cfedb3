import { expect } from 'chai';
import { parseCast, sizeIn, timeIn, transcriptOf } from '../../../web/src/pages/activity/cast.ts';

const cast = (...events: [number, string, string][]) =>
  [
    JSON.stringify({ version: 2, width: 100, height: 30, timestamp: 1_764_496_800, title: 'ada in shop/cart-0' }),
    ...events.map((event) => JSON.stringify(event)),
    '',
  ].join('\n');
const linesOf = (...events: [number, string, string][]) => transcriptOf(parseCast(cast(...events)).events);

describe('a recording in the console', () => {
  it('has a title, a size, a begin and a length', () => {
    const { title, width, height, startedAt, seconds, events } = parseCast(cast([0.5, 'o', '$ '], [61.25, 'r', '80x24']));
    expect([title, width, height, startedAt, seconds, events.length]).to.deep.equal([
      ...['ada in shop/cart-0', 100, 30, '2025-11-30T10:00:00.000Z', 61.25, 2],
    ]);
  });

  it('has the lines that were shown as text, each with the time of its begin', () => {
    const lines = linesOf(
      [1, 'o', '\u001b[31m$ \u001b[0m'],
      [2, 'o', 'lx\b \bs\r\n<b>one</b>\r\nt'],
      [3, 'o', 'wo'],
      [4, 'o', '\r\n\r\n'],
      [5, 'm', '7 bytes of output are missing'],
      [6, 'o', '\u001b]0;title\u0007last'],
    );
    expect(lines).to.deep.equal([
      { seconds: 1, text: '$ ls' },
      { seconds: 2, text: '<b>one</b>' },
      { seconds: 2, text: 'two' },
      { seconds: 5, text: '7 bytes of output are missing' },
      { seconds: 6, text: 'last' },
    ]);
  });

  it('is shown in a size that a browser can hold', () => {
    const { width, height } = parseCast(cast().replace('"width":100,"height":30', '"width":10000,"height":9999'));
    expect([width, height]).to.deep.equal([500, 200]);
    expect(['80x24', '9999x9999', '10000x50', '0', 'x'].map(sizeIn)).to.deep.equal([
      ...[{ columns: 80, rows: 24 }, { columns: 500, rows: 200 }, { columns: 500, rows: 50 }, undefined, undefined],
    ]);
  });

  it('leaves events of other codes out', () => {
    expect(linesOf([1, 'i', 'a-password'], [2, 'o', 'shown'])).to.deep.equal([{ seconds: 2, text: 'shown' }]);
  });

  it('shows times in minutes, and in hours from one hour on', () => {
    expect([0, 65.9, 3605].map(timeIn)).to.deep.equal(['0:00', '1:05', '1:00:05']);
  });
});

import { SortedRows } from '@atrium/lists/list-index.ts';
import { expect } from 'chai';

interface Row {
  readonly value: number;
}

/** Rows under test, with an array of the same rows that is sorted each time. */
class Pair {
  plain: Row[];
  readonly rows: SortedRows<Row>;

  constructor(count: number) {
    this.plain = Array.from({ length: count }, (_, index) => ({ value: index * 10 }));
    this.rows = new SortedRows(this.plain, (left, right) => left.value - right.value);
  }

  insert(value: number): void {
    const row = { value };
    this.rows.insert(row);
    this.plain = [...this.plain, row].sort((left, right) => left.value - right.value);
  }

  delete(row: Row): void {
    this.rows.delete(row);
    this.plain = this.plain.filter((other) => other !== row);
  }

  expectEqual(): void {
    expect(this.rows.length).to.equal(this.plain.length);
    expect(this.rows.slice()).to.deep.equal(this.plain);
  }
}

describe('rows in order', () => {
  for (const count of [0, 1, 511, 512, 513, 5_000]) {
    it(`are cut anywhere as an array is cut, with ${count} of them`, () => {
      const { rows, plain } = new Pair(count);

      for (const start of [0, 1, 500, 512, 1_023, 4_999, 6_000])
        for (const end of [start, start + 20, start + 600, count]) {
          expect(rows.slice(start, end), `${start} to ${end}`).to.deep.equal(plain.slice(start, end));
        }
    });

    it(`report where a tail begins, with ${count} of them`, () => {
      const { rows, plain } = new Pair(count);

      for (const value of [-1, 0, 5, 5_110, 5_120, 5_121, 49_990, 60_000])
        expect(
          rows.firstIndex((row) => row.value >= value),
          `${value}`,
        ).to.equal(plain.filter((row) => row.value < value).length);
    });
  }

  it('stay in order while rows come: before, behind and between, and many in one place', () => {
    const pair = new Pair(1_000);

    for (let step = 1; step <= 1_500; step += 1) pair.insert(4_000 + step / 1_000);
    for (const value of [-5, 99_999, 5, 9_985]) pair.insert(value);

    pair.expectEqual();
  });

  it('stay in order while rows go, to the last one, and begin again after it', () => {
    const pair = new Pair(1_200);
    const all = [...pair.plain];

    for (const row of all.slice(300, 1_000)) pair.delete(row);
    pair.expectEqual();
    for (const row of all) pair.delete(row);
    pair.expectEqual();
    pair.insert(7);
    pair.insert(3);

    pair.expectEqual();
  });

  it('keep a row that is equal to the one that goes, but another', () => {
    const { rows, plain } = new Pair(600);

    rows.delete({ value: 20 });
    rows.delete({ value: 25 });

    expect(rows.slice()).to.deep.equal(plain);
  });
});

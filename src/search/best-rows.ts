interface Scored<Row> {
  readonly row: Row;
  readonly score: number;
}

/** Keeps the best of many rows: the rows with the lowest scores, and rows with equal scores in their order. */
export class BestRows<Row> {
  readonly #limit: number;
  readonly #compare: (left: Row, right: Row) => number;
  readonly #rows: Scored<Row>[] = [];
  #total = 0;

  constructor(limit: number, compare: (left: Row, right: Row) => number) {
    this.#limit = limit;
    this.#compare = compare;
  }

  add(row: Row, score: number): void {
    this.#total += 1;
    const last = this.#rows.length === this.#limit ? this.#rows.at(-1) : undefined;
    if (last !== undefined && !this.#isBefore(row, score, last)) return;
    const at = this.#rows.findIndex((other) => this.#isBefore(row, score, other));
    this.#rows.splice(at < 0 ? this.#rows.length : at, 0, { row, score });
    if (this.#rows.length > this.#limit) this.#rows.pop();
  }

  /** Rows that are kept, best first. */
  get rows(): readonly Scored<Row>[] {
    return this.#rows;
  }

  /** Number of rows that were added. */
  get total(): number {
    return this.#total;
  }

  #isBefore(row: Row, score: number, other: Scored<Row>): boolean {
    return score < other.score || (score === other.score && this.#compare(row, other.row) < 0);
  }
}

/** Milliseconds between two points. metrics-server measures every 15 s by default. */
export const pointMs = 60_000;
/** Points that are kept: one hour. */
export const pointCount = 60;
/** Bound of the series. Each takes 480 bytes and its name. */
const maxSeries = 20_000;
/** Series by which the arrays grow. */
const growth = 256;

/** Usage of a pod or a node, in cores and bytes. */
export interface Sample {
  /** `namespace/name`, or the name of a node. */
  key: string;
  labels: Readonly<Record<string, string>>;
  cpu: number;
  memory: number;
}

/** Usage at a time, summed up. */
export interface UsagePoint {
  /** Unix time in seconds. */
  time: number;
  /** Number of measured pods or nodes. Null if nothing was measured at that time; 0 if none of them was there. */
  count: number | null;
  /** Cores; null without measured pods or nodes. */
  cpu: number | null;
  /** Bytes; null without measured pods or nodes. */
  memory: number | null;
}

interface Series {
  labels: Sample['labels'];
  index: number;
  /** Last minute with a sample. */
  last: number;
}

export class TooManySeries extends Error {
  override readonly name = 'TooManySeries';
}

/**
 * Keeps the usage of the last hour, one point a minute, in two typed arrays. A minute without a measurement stays unknown. Series that ended
 * make room for new ones; the hour then begins later, because its sums would be too small.
 */
export class UsageRing {
  readonly #series = new Map<string, Series>();
  readonly #free: number[] = [];
  readonly #max: number;
  /** Minute of each point that was measured. */
  readonly #measured = new Float64Array(pointCount).fill(Number.NaN);
  #capacity = 0;
  #cpu = new Float32Array(0);
  #memory = new Float32Array(0);
  /** First minute with complete sums. */
  #since: number | undefined;
  #newest = Number.NEGATIVE_INFINITY;

  constructor(max = maxSeries) {
    this.#max = max;
  }

  get size(): number {
    return this.#series.size;
  }

  /** Bytes of the numbers. */
  get bytes(): number {
    return this.#cpu.byteLength + this.#memory.byteLength;
  }

  /** Unix time in seconds of the first minute with complete sums, undefined before the first measurement. */
  get since(): number | undefined {
    return this.#since === undefined ? undefined : (this.#since * pointMs) / 1000;
  }

  /** Adds a measurement. A second one in a minute, and one that is older than the last, are ignored. @throws TooManySeries */
  add(at: Date, measured: readonly Sample[]): void {
    const minute = minuteOf(at);
    if (minute <= this.#newest) return;
    // Names are unique in Kubernetes. The last one of equal names counts.
    const samples = [...new Map(measured.map((sample) => [sample.key, sample])).values()];
    if (samples.length > this.#max) throw new TooManySeries(`there are more than ${this.#max} of them`);
    this.#newest = minute;
    this.#since ??= minute;
    this.#endOld(minute);
    const row = minute % pointCount;
    this.#measured[row] = minute;
    const fresh = samples.filter(({ key, labels }) => !this.#renew(key, labels, minute));
    this.#makeRoom(this.#series.size + fresh.length - this.#max, minute);
    this.#grow(this.#series.size + fresh.length);
    for (const { key, labels } of fresh) this.#series.set(key, { labels, index: this.#free.pop() ?? this.#series.size, last: minute });
    this.#cpu.fill(Number.NaN, row * this.#capacity, (row + 1) * this.#capacity);
    this.#memory.fill(Number.NaN, row * this.#capacity, (row + 1) * this.#capacity);
    for (const { key, cpu, memory } of samples) {
      const at = row * this.#capacity + (this.#series.get(key)?.index ?? 0);
      this.#cpu[at] = cpu;
      this.#memory[at] = memory;
    }
  }

  /** Sums up the series that fit, minute by minute up to that time. Minutes before the first measurement are left out. */
  sums(at: Date, fits: (key: string, labels: Sample['labels']) => boolean): UsagePoint[] {
    if (this.#since === undefined) return [];
    const end = minuteOf(at);
    const first = Math.max(this.#since, end - pointCount + 1);
    const found = [...this.#series].filter(([key, { labels }]) => fits(key, labels)).map(([, { index }]) => index);
    return Array.from({ length: Math.max(0, end - first + 1) }, (_, step) => this.#sum(first + step, found)).filter(
      ({ count }, index, { length }) => count !== null || index < length - 1,
    );
  }

  #sum(minute: number, indexes: readonly number[]): UsagePoint {
    const row = minute % pointCount;
    const time = (minute * pointMs) / 1000;
    if (this.#measured[row] !== minute) return { time, count: null, cpu: null, memory: null };
    let [count, cpu, memory] = [0, 0, 0];
    for (const index of indexes) {
      const place = row * this.#capacity + index;
      const own = this.#cpu[place] ?? Number.NaN;
      if (Number.isNaN(own)) continue;
      count += 1;
      cpu += own;
      memory += this.#memory[place] ?? 0;
    }
    return count === 0 ? { time, count, cpu: null, memory: null } : { time, count, cpu, memory };
  }

  /** Notes a sample of a known series. @returns whether it is known */
  #renew(key: string, labels: Sample['labels'], minute: number): boolean {
    const series = this.#series.get(key);
    if (series === undefined) return false;
    series.labels = labels;
    series.last = minute;
    return true;
  }

  /** Drops series without a sample in the hour. */
  #endOld(minute: number): void {
    for (const [key, { last }] of this.#series) if (last <= minute - pointCount) this.#end(key);
  }

  /** Drops the series that ended first, and the minutes that they were part of. */
  #makeRoom(excess: number, minute: number): void {
    if (excess <= 0) return;
    const ended = [...this.#series].filter(([, { last }]) => last < minute).sort(([, a], [, b]) => a.last - b.last);
    for (const [key, { last }] of ended.slice(0, excess)) {
      this.#end(key);
      this.#since = Math.max(this.#since ?? 0, last + 1);
    }
  }

  #end(key: string): void {
    const series = this.#series.get(key);
    if (series === undefined) return;
    this.#series.delete(key);
    this.#free.push(series.index);
    // The next series of this place must not get these figures.
    for (let row = 0; row < pointCount; row += 1) {
      this.#cpu[row * this.#capacity + series.index] = Number.NaN;
      this.#memory[row * this.#capacity + series.index] = Number.NaN;
    }
  }

  #grow(needed: number): void {
    if (needed <= this.#capacity) return;
    const capacity = Math.ceil(needed / growth) * growth;
    const grown = (from: Float32Array) => {
      const to = new Float32Array(capacity * pointCount).fill(Number.NaN);
      for (let row = 0; row < pointCount; row += 1) to.set(from.subarray(row * this.#capacity, (row + 1) * this.#capacity), row * capacity);
      return to;
    };
    this.#cpu = grown(this.#cpu);
    this.#memory = grown(this.#memory);
    this.#capacity = capacity;
  }
}

const minuteOf = (at: Date): number => Math.floor(at.getTime() / pointMs);

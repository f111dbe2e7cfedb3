/** More than honest clocks differ. Beyond it nothing is deleted by the time. */
const maxSkewMs = 5 * 60_000;
const minuteMs = 60_000;
/** A `Date` is cut to its second, and servers keep its text for up to another one. */
const dateGrainMs = 2000;

/**
 * The clock of the API server, by the `Date` of its answers. Replicas compare the times that they write for each other, so all of them
 * take their time from here.
 *
 * Each answer bounds how far the API server is ahead of the monotonic clock of this process, which no operator sets. Answers narrow the
 * bounds; an answer that contradicts them tells of a clock that was set, and replaces them.
 */
export class ServerClock {
  readonly #wallClock: () => Date;
  #aheadOfMonotonic: { least: number; most: number } | undefined;

  /** @param wallClock of this machine */
  constructor(wallClock: () => Date = () => new Date()) {
    this.#wallClock = wallClock;
  }

  /**
   * @param date of an answer that has just come, as in the header
   * @param sentAt when the request was sent, by `performance.now()`
   */
  note(date: string | string[] | undefined, sentAt: number): void {
    const time = Date.parse(String(date));
    if (Number.isNaN(time)) return;
    const told = { least: time - performance.now(), most: time + dateGrainMs - sentAt };
    const known = this.#aheadOfMonotonic ?? told;
    const both = { least: Math.max(known.least, told.least), most: Math.min(known.most, told.most) };
    this.#aheadOfMonotonic = both.least <= both.most ? both : told;
  }

  /**
   * The time of the API server: the wall clock of this machine where its answers agree with it, else the latest time that the API server
   * has certainly reached. Before its first answer, the wall clock.
   */
  now(): Date {
    const here = this.#wallClock();
    if (this.#aheadOfMonotonic === undefined) return here;
    const { least, most } = this.#aheadOfMonotonic;
    const monotonic = performance.now();
    const isInStep = here.getTime() >= monotonic + least && here.getTime() <= monotonic + most;
    return isInStep ? here : new Date(monotonic + least);
  }

  get isTrusted(): boolean {
    return Math.abs(this.#skewMs) <= maxSkewMs;
  }

  /** What is wrong, as a check of the service. */
  failure(): string | undefined {
    if (this.isTrusted) return undefined;
    const minutes = Math.round(Math.abs(this.#skewMs) / minuteMs);
    return `the clock here is ${minutes} minutes ${this.#skewMs > 0 ? 'ahead of' : 'behind'} that of kubernetes`;
  }

  /** Milliseconds by which the wall clock is ahead of the API server. */
  get #skewMs(): number {
    return this.#wallClock().getTime() - this.now().getTime();
  }
}

/** More than honest clocks differ, and far less than what is kept here lasts. */
const maxSkewMs = 5 * 60_000;
const minuteMs = 60_000;

/**
 * How far the clock of this replica is from that of the API server, by the `Date` of its answers. What other replicas use is deleted by
 * the time only while the two agree.
 */
export class ServerClock {
  #skewMs = 0;
  /** The least that was seen in this minute and the one before: a `Date` is cut to its second, and old when it comes. */
  #least = Number.POSITIVE_INFINITY;
  #leastBefore = Number.POSITIVE_INFINITY;
  #minuteBegan = Number.NEGATIVE_INFINITY;

  /** @param date of an answer that has just come, as in the header */
  note(date: string | string[] | undefined): void {
    const time = Date.parse(String(date));
    if (Number.isNaN(time)) return;
    const here = Date.now();
    this.#skewMs = here - time;
    // Also when the clock here was put back.
    if (Math.abs(here - this.#minuteBegan) > minuteMs) {
      [this.#leastBefore, this.#least, this.#minuteBegan] = [this.#least, this.#skewMs, here];
    } else this.#least = Math.min(this.#least, this.#skewMs);
  }

  /** How many milliseconds the clock here is ahead of that of the API server; to a few once a second has begun there while it answered. */
  get aheadMs(): number {
    const ahead = Math.min(this.#least, this.#leastBefore);
    return Number.isFinite(ahead) ? ahead : 0;
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
}

/** More than honest clocks differ, and far less than what is kept here lasts. */
const maxSkewMs = 5 * 60_000;
const minuteMs = 60_000;

/**
 * How far the clock of this replica is from that of the API server, by the `Date` of its answers. What other replicas use is deleted by
 * the time only while the two agree.
 */
export class ServerClock {
  #skewMs = 0;

  /** @param date of an answer that has just come, as in the header */
  note(date: string | string[] | undefined): void {
    const time = Date.parse(String(date));
    if (!Number.isNaN(time)) this.#skewMs = Date.now() - time;
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

import { setTimeout as sleep } from 'node:timers/promises';

/** Bound of the clock skew, above that of synchronized clocks. Beyond it no expired object is deleted. */
const maxSkewMs = 5 * 60_000;
const minuteMs = 60_000;
/** Precision of the header `Date`: it has whole seconds, and servers cache its text for up to another second. */
const dateGrainMs = 2000;

/**
 * Clock of the API server, derived from the `Date` of its answers. Replicas compare times that they write for each other, so that all of
 * them use this clock.
 *
 * Each answer bounds how far the API server is ahead of the monotonic clock of this process, which no operator sets. Answers narrow the
 * bounds. An answer that contradicts them shows that the clock of the API server was set, and replaces them.
 */
export class ServerClock {
  readonly #wallClock: () => Date;
  #aheadOfMonotonic: { least: number; most: number } | undefined;

  /** @param wallClock clock of this machine */
  constructor(wallClock: () => Date = () => new Date()) {
    this.#wallClock = wallClock;
  }

  /**
   * Narrows the bounds by an answer.
   *
   * @param date header of an answer that was just received
   * @param sentAt time of the request, by `performance.now()`
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
   * Returns the time of the API server: the wall clock of this machine if the answers agree with it, otherwise the latest time that the API
   * server has certainly reached. Before the first answer, returns the wall clock.
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

  /** Health check: fails if the clock skew is too large. */
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

/** Formats a time like Kubernetes: RFC 3339, UTC, whole seconds. */
export const timestamp = (time: Date): string => time.toISOString().replace(/\.\d+Z$/, 'Z');

/** Formats a time in Unix seconds. */
export const timestampOf = (unixSeconds: number): string => timestamp(new Date(unixSeconds * 1000));

/** Returns the next whole second. Tokens have whole seconds, so that a token with that time or later was issued after the given one. */
export const nextSecond = (time: Date): Date => new Date((Math.floor(time.getTime() / 1000) + 1) * 1000);

/** Waits until a time such as that of `nextSecond`, from which on tokens are valid. A timer may end a millisecond early. */
export async function sleepUntil(time: Date, now: () => Date, signal?: AbortSignal): Promise<void> {
  const left = () => time.getTime() - now().getTime();
  for (let tries = 2; tries > 0 && left() > 0; tries -= 1) await sleep(left(), undefined, { signal });
}

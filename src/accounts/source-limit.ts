import { isIPv6 } from 'node:net';
import { LRUCache } from 'lru-cache';
import { atMost } from '../http/bound.ts';

const maxSources = 20_000;

interface SourceLimitOptions {
  /** How many failures an address may have. */
  failures: number;
  /** Since the first of them, in milliseconds. */
  windowMs: number;
  /** Milliseconds that only ever grow. */
  clock: () => number;
}

interface Window {
  readonly endsAt: number;
  count: number;
}

/**
 * Counts failures per client address, so that nobody tries one password at every account. Of this replica only and for as long as
 * there is room: what must hold everywhere is counted on the account.
 */
export class SourceLimit {
  readonly #options: SourceLimitOptions;
  readonly #windows = new LRUCache<string, Window>(atMost(maxSources));

  constructor(options: SourceLimitOptions) {
    this.#options = options;
  }

  /**
   * Counts an attempt as failed before it is judged, for those that come at once.
   *
   * @returns how many seconds to wait if it was one too many
   */
  take(source: string): { retryAfterSeconds: number } | undefined {
    const now = this.#options.clock();
    const key = network(source);
    const known = this.#windows.get(key);
    const window = known !== undefined && now < known.endsAt ? known : { endsAt: now + this.#options.windowMs, count: 0 };
    if (window.count >= this.#options.failures) return { retryAfterSeconds: Math.ceil((window.endsAt - now) / 1000) };
    window.count += 1;
    this.#windows.set(key, window);
    return undefined;
  }

  /** After an attempt that did not fail. */
  giveBack(source: string): void {
    const window = this.#windows.get(network(source));
    if (window !== undefined && window.count > 0) window.count -= 1;
  }
}

/** Of an IPv6 address the first 64 bits: whoever has one has all the others in it (RFC 4291, 2.5.1). */
function network(source: string): string {
  if (!isIPv6(source)) return source;
  const { hostname } = new URL(`http://[${source.replace(/%.*$/, '')}]`);
  const [head = '', tail] = hostname.slice(1, -1).split('::');
  const front = head.split(':').filter(Boolean);
  const back = (tail ?? '').split(':').filter(Boolean);
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - front.length - back.length }, () => '0');
  return [...front, ...zeros, ...back].slice(0, 4).join(':');
}

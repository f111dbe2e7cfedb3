import { StatusError } from '../api/status.ts';

/** Costs no call. */
const checkMs = 1_000;

export interface Lasting {
  /** Aborts with the given one, or with the 401 or 403 that the request would get now. */
  signal: AbortSignal;
  /** To be called when the request is over. */
  end(): void;
}

/**
 * How long an open request may go on: until a check, made each second, throws 401 or 403. What cannot be asked does not end it.
 *
 * @param check is given the signal of the result; the next one begins after it has ended
 */
export function whilePermitted(outer: AbortSignal, check: (signal: AbortSignal) => Promise<void>): Lasting {
  const lost = new AbortController();
  const signal = AbortSignal.any([outer, lost.signal]);
  let isChecking = false;
  const look = async () => {
    if (isChecking) return;
    isChecking = true;
    try {
      await check(signal);
    } catch (error) {
      if (error instanceof StatusError && (error.status.code === 401 || error.status.code === 403)) lost.abort(error);
    } finally {
      isChecking = false;
    }
  };
  const timer = setInterval(() => void look(), checkMs);
  const end = () => clearInterval(timer);
  signal.addEventListener('abort', end, { once: true });
  return { signal, end };
}

import { StatusError } from '@atrium/objects/status.ts';

/** A check costs no call. */
const checkMs = 1_000;

export interface Lasting {
  /** Aborts with the given signal, or with the 401, 403 or 410 that the request would get now. */
  signal: AbortSignal;
  /** To be called when the request is over. */
  end(): void;
}

/** Codes that end an open request: unauthorized, forbidden, and a list that has to be read again. */
const endingCodes: readonly unknown[] = [401, 403, 410];

/** Reports whether an error is the 401, 403 or 410 of a request that may not go on. */
export const isRefusal = (error: unknown): error is StatusError => error instanceof StatusError && endingCodes.includes(error.status.code);

/** Returns the 401, 403 or 410 that ended a request; undefined if it has not ended, or for another reason. */
export const refusalOf = ({ reason }: AbortSignal): StatusError | undefined => (isRefusal(reason) ? reason : undefined);

/**
 * Ends an open request when a check, made each second, throws 401, 403 or 410. Other failures of the check do not end it.
 *
 * @param check receives the signal of the result. Checks do not overlap.
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
      if (isRefusal(error)) lost.abort(error);
    } finally {
      isChecking = false;
    }
  };
  const timer = setInterval(() => void look(), checkMs);
  const end = () => clearInterval(timer);
  signal.addEventListener('abort', end, { once: true });
  return { signal, end };
}

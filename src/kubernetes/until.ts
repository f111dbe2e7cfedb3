/** Bound of the wait of a request until the watch of this replica shows a write. */
export const seenWithinMs = 2_000;

/** Bound of the wait of a request for a first list in progress. */
export const listedWithinMs = 2_000;

/** Bound of the wait of a request for an unknown object, which another replica may have just created. */
export const madeWithinMs = 500;

/**
 * Number of the timers that the time is split into. A process that was suspended loses one of them, and still receives events that arrived
 * meanwhile.
 */
const pieces = 8;

/**
 * Waits until a condition on watched objects is true, at most for that time or until the signal aborts. Does not throw in either case.
 *
 * @param isTrue called now and after every change
 * @param onChange registers a listener for changes, and returns a function that removes it
 * @returns whether the condition is true
 */
export async function until(
  isTrue: () => boolean,
  onChange: (listener: () => void) => () => unknown,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  if (isTrue()) return true;
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  // An error of the condition must not keep other listeners from the change.
  const forget = onChange(() => {
    try {
      if (isTrue()) resolve(true);
    } catch (error) {
      reject(error);
    }
  });
  const leave = () => resolve(false);
  let left = pieces;
  const timer = setTimeout(
    () => {
      left -= 1;
      if (left > 0) timer.refresh();
      else leave();
    },
    Math.ceil(timeoutMs / pieces),
  );
  if (signal.aborted) leave();
  else signal.addEventListener('abort', leave);
  try {
    return await promise;
  } finally {
    forget();
    clearTimeout(timer);
    signal.removeEventListener('abort', leave);
  }
}

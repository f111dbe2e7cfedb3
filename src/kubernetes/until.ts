/** How long a request waits until the watch of this replica shows what was written. */
export const seenWithinMs = 2_000;

/** How long a request waits for a first list that is under way. */
export const listedWithinMs = 2_000;

/** How long a request waits for an object that is not known: another replica may have made it a moment ago. */
export const madeWithinMs = 500;

/** The time is counted in so many pieces. A process that was stopped for a while loses one, and still hears what came meanwhile. */
const pieces = 8;

/**
 * Waits until something is true of what is watched, at the latest for that time or until the signal aborts. Does not throw at either.
 *
 * @param isTrue asked now and with every change
 * @param onChange calls with every change from now on; returns a function that ends it
 * @returns whether it is true
 */
export async function until(
  isTrue: () => boolean,
  onChange: (listener: () => void) => () => unknown,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  if (isTrue()) return true;
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  // What is wrong with the question must not keep others from hearing of the change.
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

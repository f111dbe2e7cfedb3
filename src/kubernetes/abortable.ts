/** For work that goes on when its caller hangs up. Each call in it has a deadline of its own. */
export const unending: AbortSignal = new AbortController().signal;

/**
 * Waits for work that goes on by itself, or that is slow to notice the signal.
 *
 * @throws the signal's reason when that aborts first; the result of the work is then dropped
 */
export async function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: gone, reject } = Promise.withResolvers<never>();
  const leave = () => reject(signal.reason);
  signal.addEventListener('abort', leave);
  try {
    signal.throwIfAborted();
    return await Promise.race([work, gone]);
  } finally {
    signal.removeEventListener('abort', leave);
    work.catch(() => undefined);
  }
}

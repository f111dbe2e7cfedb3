/** Signal for work that continues when its caller disconnects. Each call of such work has its own deadline. */
export const unending: AbortSignal = new AbortController().signal;

/**
 * Waits for work that continues by itself, or that is slow to notice the signal.
 *
 * @throws the reason of the signal if it aborts first; the result of the work is then dropped
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

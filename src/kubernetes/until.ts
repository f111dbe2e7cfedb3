/**
 * Resolves when something is true of what is watched, at the latest after that time or when the signal aborts.
 *
 * @param onChange tells of changes; gives a function that ends it
 */
export async function until(
  isTrue: () => boolean,
  onChange: (listener: () => void) => () => unknown,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<void> {
  if (isTrue()) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const forget = onChange(() => isTrue() && resolve());
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  deadline.addEventListener('abort', () => resolve(), { once: true });
  await promise;
  forget();
}

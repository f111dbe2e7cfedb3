/** Waits for something that goes on by itself. @throws the signal's reason when that aborts before */
export async function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: gone, reject } = Promise.withResolvers<never>();
  const leave = () => reject(signal.reason);
  if (signal.aborted) leave();
  else signal.addEventListener('abort', leave);
  try {
    return await Promise.race([work, gone]);
  } finally {
    signal.removeEventListener('abort', leave);
    work.catch(() => undefined);
  }
}

import { WatchCache } from '@atrium/kubernetes/watch/watch-cache.ts';

/** Calls the service, and disconnects once the replica waits for its watch to show the write. @param send passes the signal to the request */
export async function leaveAfterWrite(send: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
  const leaving = new AbortController();
  const { until } = WatchCache.prototype;
  WatchCache.prototype.until = function (_isTrue, timeoutMs, signal) {
    WatchCache.prototype.until = until;
    leaving.abort();
    return this.until(() => false, timeoutMs, signal);
  };
  try {
    await send(leaving.signal);
  } catch (error) {
    if (!leaving.signal.aborted) throw error;
    return;
  } finally {
    WatchCache.prototype.until = until;
  }
  throw new Error('the service answered before the caller left');
}

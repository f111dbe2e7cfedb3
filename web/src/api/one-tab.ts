/** Work that one visible tab of this browser does for all. Tabs share the six connections that browsers open to a server by HTTP/1.1. */
import { storageKey } from './address';

type Release = () => void;

/**
 * Begins the work while the tab is visible and no other tab does it. Without locks (no https), each visible tab does it.
 *
 * @returns a function that ends it
 */
export function inOneTab(name: string, begin: () => () => void): () => void {
  let release: Release | undefined;
  let waiting: AbortController | undefined;
  const work = () =>
    new Promise<void>((resolve) => {
      const end = begin();
      release = () => {
        end();
        resolve();
      };
    });
  const leave = () => {
    waiting?.abort();
    waiting = undefined;
    release?.();
    release = undefined;
  };
  const enter = () => {
    if (waiting !== undefined) return;
    waiting = new AbortController();
    if (navigator.locks === undefined) void work();
    // An abort rejects the request that still waits.
    else navigator.locks.request(storageKey(name), { signal: waiting.signal }, work).catch(() => undefined);
  };
  const onVisibility = () => (document.visibilityState === 'visible' ? enter() : leave());
  document.addEventListener('visibilitychange', onVisibility);
  onVisibility();
  return () => {
    document.removeEventListener('visibilitychange', onVisibility);
    leave();
  };
}

import { useEffect } from 'preact/hooks';
import type { Load } from './load';

/** Interval for what cannot be watched and changes seldom. */
const seldomMs = 30_000;

/**
 * Reloads what cannot be watched: at an interval while the page is visible, and at once when it becomes visible again.
 *
 * @param load undefined for what needs no reload, because it is watched
 */
export function usePoll(load: Pick<Load<unknown>, 'reload'> | undefined, everyMs = seldomMs): void {
  const reload = load?.reload;
  useEffect(() => {
    if (reload === undefined) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isOver = false;
    const wait = () => {
      clearTimeout(timer);
      if (!isOver && document.visibilityState === 'visible') timer = setTimeout(() => void again(), everyMs);
    };
    const again = async () => {
      clearTimeout(timer);
      await reload();
      wait();
    };
    const onVisibility = () => (document.visibilityState === 'visible' ? void again() : clearTimeout(timer));
    wait();
    document.addEventListener('visibilitychange', onVisibility);
    return () => {
      isOver = true;
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onVisibility);
    };
  }, [reload, everyMs]);
}

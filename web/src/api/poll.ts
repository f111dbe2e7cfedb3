import { useEffect } from 'preact/hooks';
import type { Load } from './load';

/** Reloads what cannot be watched: at an interval while the page is visible, and at once when it becomes visible again. */
export function usePoll({ reload }: Pick<Load<unknown>, 'reload'>, everyMs: number): void {
  useEffect(() => {
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

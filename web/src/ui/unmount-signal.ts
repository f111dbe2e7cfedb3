import { useLayoutEffect, useMemo } from 'preact/hooks';

/** Returns a signal that is aborted once the component is unmounted. */
export function useUnmountSignal(): AbortSignal {
  const controller = useMemo(() => new AbortController(), []);
  useLayoutEffect(() => () => controller.abort(), []);
  return controller.signal;
}

import { type ReadonlySignal, useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { resumed } from './client';
import { onRefetch } from './load';
import { type FetchSlice, Windows } from './windows';

interface Following<T> {
  resourceVersion: string;
  onEvent: (event: { type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'; object: T }) => void;
  /** It has ended: a new list is needed before it goes on. */
  onEnd: () => void;
}

interface WindowsOptions<T> {
  /** Of what is asked for; another key is another list. */
  key: string;
  fetch: FetchSlice<T>;
  /** Follows the list from a version on, where the caller may. @returns what stops it */
  follow: ((following: Following<T>) => () => void) | undefined;
}

export interface LiveWindows<T extends { metadata: { uid: string } }> {
  list: Windows<T>;
  /** How many rows have come or gone since, which are not shown yet. */
  waiting: ReadonlySignal<number>;
  refresh: () => Promise<void>;
}

/** A long list in windows, with what changes in it: rows change in place, those that come and go are counted until they are asked for. */
export function useWindows<T extends { metadata: { uid: string } }>({ key, fetch, follow }: WindowsOptions<T>): LiveWindows<T> {
  const list = useMemo(() => new Windows<T>(fetch), [key]);
  const waiting = useSignal(0);
  const generation = useSignal(0);
  useEffect(() => {
    list.want(0, 0);
    const forget = onRefetch(key, refresh);
    return () => {
      forget();
      list.stop();
    };
  }, [list]);
  useEffect(() => {
    if (resumed.value > 0) void refresh();
  }, [resumed.value]);

  // One that is refused by now would be refused again.
  const isLive = follow !== undefined && list.total.value !== undefined && list.error.value?.status !== 403;
  // A live list begins where the list was read; one that is read again begins again.
  useEffect(() => {
    const { resourceVersion } = list;
    if (!isLive || resourceVersion === undefined) return;
    waiting.value = 0;
    return follow({
      resourceVersion,
      onEvent({ type, object }) {
        // What is not fetched yet comes as it is by then.
        if (type === 'MODIFIED') list.replace(object);
        else waiting.value += 1;
      },
      onEnd: () => void refresh(),
    });
  }, [list, isLive, generation.value]);

  async function refresh(): Promise<void> {
    await list.refresh();
    generation.value += 1;
  }
  return { list, waiting, refresh };
}

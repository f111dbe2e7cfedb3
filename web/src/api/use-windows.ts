import { type ReadonlySignal, useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { resumed } from './client';
import { onRefetch } from './load';
import { isFinal, isTransient, Lost, retryMs } from './lost';
import { watchObjects } from './watch-objects';
import { type FetchSlice, Windows } from './windows';

export interface Following<T> {
  resourceVersion: string;
  onEvent: (event: { type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'; object: T }) => void;
  /** It has ended: a new list is needed before it goes on. */
  onEnd: () => void;
  onLost: (isLost: boolean) => void;
}

interface WindowsOptions<T> {
  /** Of what is asked for; another key is another list. */
  key: string;
  fetch: FetchSlice<T>;
  /** Follows the list from a version on, where the caller may. @returns what stops it */
  follow: ((following: Following<T>) => () => void) | undefined;
}

/** Follows a list by the Kubernetes API. @param path of the resource, below the base path */
export const followObjects =
  <T extends { metadata: { resourceVersion?: string } }>(path: string) =>
  ({ onLost, ...following }: Following<T>): (() => void) =>
    watchObjects<T>({ path, ...following, onProblem: (problem) => onLost(isTransient(problem)) });

export interface LiveWindows<T extends { metadata: { uid: string } }> {
  list: Windows<T>;
  /** The list is of an earlier key, and stands until the first answer. */
  isAwaited: boolean;
  /** Fetches what is missing of the rows in sight. */
  want: (first: number, last: number) => void;
  /** How many rows have come or gone since, which are not shown yet. */
  waiting: ReadonlySignal<number>;
  /** Since when it is not as it is by now, as far as is known. */
  lost: ReadonlySignal<Date | undefined>;
  refresh: () => Promise<void>;
}

/** A long list in windows, with what changes in it: rows change in place, those that come and go are counted until they are asked for. */
export function useWindows<T extends { metadata: { uid: string } }>({ key, fetch, follow }: WindowsOptions<T>): LiveWindows<T> {
  const list = useMemo(() => new Windows<T>(fetch), [key]);
  const read = useRef(list);
  if (list.total.value !== undefined || list.error.value !== undefined) read.current = list;
  const waiting = useSignal(0);
  const generation = useSignal(0);
  const lost = useMemo(() => new Lost(), [list]);
  useEffect(() => {
    list.want(0, 0);
    const forget = onRefetch(key, refresh);
    return () => {
      forget();
      lost.end();
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
      onLost: (isLost) => lost.set(isLost),
    });
  }, [list, isLive, generation.value]);
  const problem = list.total.value === undefined ? undefined : list.error.value;
  // Without an answer there is nothing to follow from.
  useEffect(() => {
    if (problem === undefined) return follow === undefined ? lost.end() : undefined;
    if (isFinal(problem)) return lost.end();
    lost.begin();
    const timer = setTimeout(() => void refresh(), retryMs(problem));
    return () => clearTimeout(timer);
  }, [list, problem]);

  async function refresh(): Promise<void> {
    await list.refresh();
    generation.value += 1;
  }
  const isAwaited = read.current !== list;
  const want = (first: number, last: number) => {
    if (!isAwaited) list.want(first, last);
  };
  return { list: read.current, isAwaited, want, waiting, lost: lost.since, refresh };
}

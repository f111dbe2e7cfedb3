import { type ReadonlySignal, useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { resumed } from './client';
import { onRefetch } from './load';
import { isFinal, isTransient, Lost } from './lost';
import { Retry } from './outage';
import { watchObjects } from './watch-objects';
import { type FetchSlice, Windows } from './windows';

export interface Following<T> {
  resourceVersion: string;
  onEvent: (event: { type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'; object: T }) => void;
  /** The stream has ended: a new list is needed to continue. */
  onEnd: () => void;
  onLost: (isLost: boolean) => void;
}

interface WindowsOptions<T> {
  /** Key of the list; another key is another list. */
  key: string;
  fetch: FetchSlice<T>;
  /**
   * Follows the list from a version on, if the caller may.
   *
   * @returns a function that stops it
   */
  follow: ((following: Following<T>) => () => void) | undefined;
}

/** Follows a list by the Kubernetes API. @param path of the resource, below the base path */
export const followObjects =
  <T extends { metadata: { resourceVersion?: string } }>(path: string) =>
  ({ onLost, ...following }: Following<T>): (() => void) =>
    watchObjects<T>({ path, ...following, onProblem: (problem) => onLost(isTransient(problem)) });

export interface LiveWindows<T extends { metadata: { uid: string } }> {
  list: Windows<T>;
  /** True until the first answer, while the list of an earlier key is shown. */
  isAwaited: boolean;
  /** Fetches the missing rows of those in sight. */
  want: (first: number, last: number) => void;
  /** Number of rows that were added or removed since, and are not shown yet. */
  waiting: ReadonlySignal<number>;
  /** Time since which the list may be outdated. */
  lost: ReadonlySignal<Date | undefined>;
  refresh: () => Promise<void>;
}

/** Shows a long list in windows, with its changes: rows change in place; added and removed rows are counted until they are requested. */
export function useWindows<T extends { metadata: { uid: string } }>({ key, fetch, follow }: WindowsOptions<T>): LiveWindows<T> {
  const list = useMemo(() => {
    const made = new Windows<T>(fetch);
    // An effect would wait until the rows of the earlier list are rendered again.
    made.want(0, 0);
    return made;
  }, [key]);
  const read = useRef(list);
  if (list.total.value !== undefined || list.error.value !== undefined) read.current = list;
  const waiting = useSignal(0);
  const lost = useMemo(() => new Lost(), [list]);
  const refresh = () => list.refresh();
  useEffect(() => {
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

  // A refused list would be refused again.
  const isLive = follow !== undefined && list.total.value !== undefined && list.error.value?.status !== 403;
  const origin = list.origin.value;
  // A live list begins where the list was read, and begins again when it is read again.
  useEffect(() => {
    if (!isLive || origin === undefined) return;
    waiting.value = 0;
    return follow({
      resourceVersion: origin.resourceVersion,
      onEvent({ type, object }) {
        // Rows that are not fetched yet arrive in their current state.
        if (type === 'MODIFIED') list.replace(object);
        else waiting.value += 1;
      },
      onEnd: () => void refresh(),
      onLost: (isLost) => lost.set(isLost),
    });
  }, [list, isLive, origin]);
  const problem = list.error.value;
  const retry = useMemo(() => new Retry(() => void refresh()), [list]);
  // Without an answer there is nothing to follow from.
  useEffect(() => {
    if (problem === undefined) retry.succeeded();
    if (problem === undefined) return follow === undefined ? lost.end() : undefined;
    if (isFinal(problem)) return lost.end();
    if (list.total.peek() !== undefined) lost.begin();
    retry.plan(problem);
    return () => retry.stop();
  }, [list, problem]);

  const isAwaited = read.current !== list;
  const want = (first: number, last: number) => {
    if (!isAwaited) list.want(first, last);
  };
  return { list: read.current, isAwaited, want, waiting, lost: lost.since, refresh };
}

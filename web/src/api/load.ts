import { type ReadonlySignal, signal } from '@preact/signals';
import { useLayoutEffect, useMemo } from 'preact/hooks';
import { forgetAhead } from './ahead';
import { resumed } from './client';
import { Retry } from './outage';
import { asProblem, type Problem } from './problem';

/** State of a request: the last answer, and the failure since. A failure by an outage is followed by further attempts. */
export interface Load<T> {
  data: ReadonlySignal<T | undefined>;
  error: ReadonlySignal<Problem | undefined>;
  isBusy: ReadonlySignal<boolean>;
  reload(): Promise<void>;
  /** Takes a newer state that a watch reports. A request in progress may be older, and is aborted. */
  take(newer: { data: T } | { error: Problem }): void;
}

type Fetch<T> = (signal: AbortSignal) => Promise<T>;

const shown = new Map<string, Set<() => Promise<void>>>();
const remembered = new Map<string, unknown>();
const rememberedLimit = 100;

function remember(key: string, value: unknown): void {
  remembered.delete(key);
  remembered.set(key, value);
  const [oldest] = remembered.keys();
  if (remembered.size > rememberedLimit && oldest !== undefined) remembered.delete(oldest);
}

/** Forgets all answers, which another user must not see. */
export function forgetLoads(): void {
  remembered.clear();
  forgetAhead();
}

/** Loads the shown answers below these keys again after a write, and forgets the others. */
export async function refetch(...prefixes: string[]): Promise<void> {
  const isMeant = (key: string) => prefixes.some((prefix) => key.startsWith(prefix));
  for (const key of [...remembered.keys()].filter(isMeant)) remembered.delete(key);
  const reloads = [...shown].filter(([key]) => isMeant(key)).flatMap(([, loads]) => [...loads]);
  await Promise.all(reloads.map((reload) => reload()));
}

/**
 * Registers a view of a key that does not use `useLoad`: `refetch` reloads it, too.
 *
 * @returns a function that removes it
 */
export function onRefetch(key: string, reload: () => Promise<void>): () => void {
  const loads = shown.get(key) ?? new Set();
  shown.set(key, loads.add(reload));
  return () => {
    loads.delete(reload);
    if (loads.size === 0) shown.delete(key);
  };
}

/** Loads by a key while the component is mounted; another key is another load. */
export function useLoad<T>(key: string | undefined, fetch: Fetch<T>): Load<T> {
  const load = useMemo(() => makeLoad(key, fetch), [key]);
  // Other effects run after the frame is painted, and the request would wait for them.
  useLayoutEffect(() => {
    if (key === undefined) return;
    const forget = onRefetch(key, load.reload);
    void load.reload();
    return () => {
      forget();
      load.stop();
    };
  }, [load, resumed.value]);
  return load;
}

function makeLoad<T>(key: string | undefined, fetch: Fetch<T>): Load<T> & { stop: () => void } {
  const data = signal(key === undefined ? undefined : (remembered.get(key) as T | undefined));
  const error = signal<Problem>();
  const isBusy = signal(false);
  const retry = new Retry(() => void reload());
  let current: AbortController | undefined;
  async function reload(): Promise<void> {
    if (key === undefined) return;
    retry.stop();
    current?.abort();
    const mine = new AbortController();
    current = mine;
    isBusy.value = true;
    try {
      const value = await fetch(mine.signal);
      if (mine.signal.aborted) return;
      remember(key, value);
      data.value = value;
      error.value = undefined;
      retry.succeeded();
    } catch (failure) {
      if (mine.signal.aborted) return;
      const problem = asProblem(failure);
      error.value = problem;
      if (problem.isOutage) retry.plan(problem);
    } finally {
      if (current === mine) isBusy.value = false;
    }
  }
  return {
    data,
    error,
    isBusy,
    reload,
    stop() {
      current?.abort();
      retry.stop();
    },
    take(newer) {
      current?.abort();
      retry.succeeded();
      if ('data' in newer) {
        remember(key ?? '', newer.data);
        data.value = newer.data;
      }
      error.value = 'error' in newer ? newer.error : undefined;
    },
  };
}

/** Data that is loaded by other means, and loaded again after changes in the cluster. */
import type { ReadonlySignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { isFinal, isTransient, Lost } from './lost';
import { getJson } from './objects';
import { Retry } from './outage';
import { usePoll } from './poll';
import { asProblem } from './problem';
import { watchObjects } from './watch-objects';

const pauseMs = 300;
const againMs = 1000;

interface WatchOptions {
  /** Path of the list. Undefined where the caller may not watch it. */
  path: string | undefined;
  fieldSelector?: string;
  labelSelector?: string;
  /** Version to begin at. */
  resourceVersion: string | undefined;
  /** Reports whether the shown data includes a version. Answers from a watch of the service may be older than the events received here. */
  isShown?: (resourceVersion: string) => boolean;
}

/** Reads the version of a list without its objects. */
async function currentVersion(path: string, selection: Record<string, string>, signal: AbortSignal): Promise<string> {
  const selectors = Object.entries(selection).filter(([, text]) => text !== '');
  const query = new URLSearchParams([['limit', '1'], ...selectors]);
  const { metadata } = await getJson<{ metadata: { resourceVersion: string } }>(`${path}?${query}`, signal);
  return metadata.resourceVersion;
}

/**
 * Calls back, at most a few times a second, when one of the objects has changed, while the page is visible. Without a watch, calls back
 * every half a minute.
 *
 * @returns the time since which the watch is lost
 */
export function useWatch(options: WatchOptions, onChange: () => Promise<void>): ReadonlySignal<Date | undefined> {
  const { path, fieldSelector, labelSelector, resourceVersion } = options;
  const lost = useMemo(() => new Lost(), []);
  const isReady = path !== undefined && resourceVersion !== undefined;
  usePoll(path === undefined ? { reload: onChange } : undefined);
  useEffect(() => {
    if (path !== undefined && resourceVersion !== undefined) return follow({ ...options, path, resourceVersion }, lost, onChange);
  }, [path, fieldSelector, labelSelector, isReady]);
  return lost.since;
}

interface Followed extends WatchOptions {
  path: string;
  resourceVersion: string;
}

/** @returns a function that stops it */
function follow(
  { path, fieldSelector = '', labelSelector = '', resourceVersion, isShown }: Followed,
  lost: Lost,
  onChange: () => Promise<void>,
): () => void {
  let again: ReturnType<typeof setTimeout> | undefined;
  const over = new AbortController();
  const retry = new Retry(() => void beginAgain());
  const tell = notifier(onChange, isShown, over.signal);
  let stop = begin(resourceVersion);
  function begin(from: string): () => void {
    return watchObjects({
      ...{ path, fieldSelector, labelSelector, resourceVersion: from },
      onEvent: ({ object }) => tell(object.metadata.resourceVersion ?? ''),
      onProblem: (problem) => lost.set(isTransient(problem)),
      onEnd() {
        stop();
        void beginAgain();
      },
    });
  }
  /** Begins at the current version. Without a version, the API server would send all objects. */
  async function beginAgain(): Promise<void> {
    let from = '';
    try {
      from = await currentVersion(path, { fieldSelector, labelSelector }, over.signal);
    } catch (error) {
      if (over.signal.aborted) return;
      const problem = asProblem(error);
      lost.set(isTransient(problem));
      if (!isFinal(problem)) return retry.plan(problem);
    }
    if (over.signal.aborted) return;
    retry.succeeded();
    // The data is loaded after the version was read, so that no change is missed.
    tell();
    again = setTimeout(() => {
      stop = begin(from);
    }, againMs);
  }
  return () => {
    over.abort();
    retry.stop();
    lost.end();
    stop();
    clearTimeout(again);
  };
}

/** Returns a function that calls back after a pause, and again while the shown data is older than the latest version. */
function notifier(
  onChange: () => Promise<void>,
  isShown: ((resourceVersion: string) => boolean) | undefined,
  over: AbortSignal,
): (version?: string) => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let latest = '';
  over.addEventListener('abort', () => clearTimeout(timer));
  return function tell(version = latest): void {
    latest = version;
    timer ??= setTimeout(async () => {
      timer = undefined;
      await onChange();
      if (!over.aborted && latest !== '' && isShown?.(latest) === false) tell();
    }, pauseMs);
  };
}

/** Data that is loaded by other means, and loaded again after changes in the cluster. */
import type { ReadonlySignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { isTransient, Lost } from './lost';
import { usePoll } from './poll';
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

/**
 * Calls back, at most a few times a second, when one of the objects has changed, while the page is visible. Without a watch, calls back
 * every half a minute.
 *
 * @returns the time since which the watch is lost
 */
export function useWatch(
  { path, fieldSelector = '', labelSelector = '', resourceVersion, isShown }: WatchOptions,
  onChange: () => Promise<void>,
): ReadonlySignal<Date | undefined> {
  const lost = useMemo(() => new Lost(), []);
  const isReady = path !== undefined && resourceVersion !== undefined;
  usePoll(path === undefined ? { reload: onChange } : undefined);
  useEffect(() => {
    if (path === undefined || resourceVersion === undefined) return;
    let changed: ReturnType<typeof setTimeout> | undefined;
    let again: ReturnType<typeof setTimeout> | undefined;
    let [latest, isOver] = ['', false];
    let stop = begin(resourceVersion);
    function tell(): void {
      changed ??= setTimeout(async () => {
        changed = undefined;
        await onChange();
        if (!isOver && latest !== '' && isShown?.(latest) === false) tell();
      }, pauseMs);
    }
    function begin(from: string): () => void {
      return watchObjects({
        path: path ?? '',
        fieldSelector,
        labelSelector,
        resourceVersion: from,
        onEvent({ object }) {
          latest = object.metadata.resourceVersion ?? '';
          tell();
        },
        onProblem: (problem) => lost.set(isTransient(problem)),
        onEnd() {
          stop();
          tell();
          // Begins at the current state.
          again = setTimeout(() => {
            stop = begin('');
          }, againMs);
        },
      });
    }
    return () => {
      isOver = true;
      lost.end();
      stop();
      clearTimeout(changed);
      clearTimeout(again);
    };
  }, [path, fieldSelector, labelSelector, isReady]);
  return lost.since;
}

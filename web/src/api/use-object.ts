/** Object of the cluster: read once, and then as its watch reports it. */
import { compareResourceVersions } from '@atrium/kubernetes/resource-version.ts';
import type { ReadonlySignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { type Load, useLoad } from './load';
import { isTransient, Lost } from './lost';
import { type ClusterObject, getJson } from './objects';
import { usePoll } from './poll';
import { Problem } from './problem';
import { type WatchEvent, watchObjects } from './watch-objects';

/** A new watch reports an object that exists at once. */
const silentMs = 3000;

interface ObjectQuery {
  path: string;
  /** The watch of its list; unset where the caller may not watch. */
  watched: { path: string; name: string } | undefined;
}

/** @returns its load, and the time since which its watch is lost */
export function useObject({ path, watched }: ObjectQuery): Load<ClusterObject> & { lost: ReadonlySignal<Date | undefined> } {
  const load = useLoad(`object/${path}`, (signal) => getJson<ClusterObject>(path, signal));
  const lost = useMemo(() => new Lost(), [path]);
  const isFollowed = watched !== undefined && load.data.value !== undefined;
  usePoll(isFollowed ? undefined : load);
  useEffect(() => {
    if (watched === undefined || !isFollowed) return;
    let silent: ReturnType<typeof setTimeout> | undefined;
    const heard = () => {
      clearTimeout(silent);
      silent = undefined;
    };
    const ask = () => {
      silent = undefined;
      void load.reload();
    };
    const stop = watchObjects<ClusterObject>({
      ...{ path: watched.path, fieldSelector: `metadata.name=${watched.name}`, resourceVersion: '', isFresh: true },
      onOpen() {
        // A deletion before the watch was opened is reported by no event.
        if (load.error.peek()?.isGone(watched.name) !== true) silent ??= setTimeout(ask, silentMs);
      },
      onEvent(event) {
        heard();
        take(load, event);
      },
      onEnd: () => undefined,
      onProblem: (problem) => lost.set(isTransient(problem)),
    });
    return () => {
      heard();
      lost.end();
      stop();
    };
  }, [load, watched?.path, watched?.name, isFollowed]);
  return { ...load, lost: lost.since };
}

function take(load: Load<ClusterObject>, { type, object }: WatchEvent<ClusterObject>): void {
  const known = load.data.peek();
  const { uid, resourceVersion } = object.metadata;
  const order = known?.metadata.uid === uid ? compareResourceVersions(resourceVersion, known?.metadata.resourceVersion ?? '') : undefined;
  // A replica of the API server may lag behind the one that answered before.
  if (order !== undefined && order < 0) return;
  if (type === 'DELETED') load.take({ error: new Problem(404, { reason: 'NotFound', details: { name: object.metadata.name } }) });
  else load.take({ data: known !== undefined && order === 0 ? known : object });
}

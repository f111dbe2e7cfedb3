/** Watches of the Kubernetes API, read by `fetch`: the demo's cluster has no WebSockets for them. */
import { call } from './client';
import { parseJson } from './json';
import { linesOf } from './lines';
import { isFinal } from './lost';
import { Retry } from './outage';
import { asProblem, type Problem } from './problem';
import { inTurn } from './turns';

export interface WatchEvent<T> {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  object: T;
}

interface Watched<T> {
  /** Path of the resource, below the base path. */
  path: string;
  /** Selects objects; all of them by default. */
  fieldSelector?: string;
  labelSelector?: string;
  /** Form of the objects: a row of a table comes without the object, unless it is asked for. */
  Accept?: string;
  includeObject?: 'Object';
  /** Version to begin at; empty for the current state. */
  resourceVersion: string;
  /** Begins with the current objects whenever the watch is opened: no version can be too old, and `onEnd` is never called. */
  isFresh?: boolean;
  /** The API server has accepted the watch. */
  onOpen?: () => void;
  onEvent: (event: WatchEvent<T>) => void;
  /** The watch cannot continue: a new list is needed. */
  onEnd: () => void;
  /** The watch failed and is retried; undefined once it is read again. */
  onProblem?: (problem: Problem | undefined) => void;
}

/** In some answers only the rows of a table have versions. */
interface Versioned {
  metadata: { resourceVersion?: string };
  rows?: readonly { object: { metadata: { resourceVersion?: string } } }[] | null;
}

const versionOf = ({ metadata, rows }: Versioned): string | undefined =>
  metadata.resourceVersion || rows?.at(-1)?.object.metadata.resourceVersion || undefined;

type Place = Pick<Watched<unknown>, 'fieldSelector' | 'labelSelector' | 'resourceVersion' | 'includeObject'>;

const queryOf = ({ fieldSelector, labelSelector, resourceVersion, includeObject }: Place) =>
  new URLSearchParams({
    ...{ watch: 'true', allowWatchBookmarks: 'true' },
    ...(resourceVersion && { resourceVersion }),
    ...(fieldSelector && { fieldSelector }),
    ...(labelSelector && { labelSelector }),
    ...(includeObject && { includeObject }),
  });

const againMs = 2000;

/**
 * Watches a list of the Kubernetes API while the page is visible.
 *
 * @returns a function that stops it
 */
export function watchObjects<T extends Versioned>({
  path,
  Accept = 'application/json',
  isFresh = false,
  onOpen,
  onEvent,
  onEnd,
  onProblem,
  ...from
}: Watched<T>): () => void {
  let { resourceVersion, ...selectors } = from;
  let current: AbortController | undefined;

  /** @returns false if the watch cannot continue from here */
  async function read(signal: AbortSignal): Promise<boolean> {
    const query = queryOf({ ...selectors, resourceVersion: isFresh ? '' : resourceVersion });
    const response = await call(`${path}?${query}`, { headers: { Accept }, signal });
    retry.succeeded();
    onProblem?.(undefined);
    onOpen?.();
    for await (const line of linesOf(response)) {
      const event = parseJson(line) as WatchEvent<T>;
      if (event.type === 'ERROR') return false;
      resourceVersion = versionOf(event.object) ?? resourceVersion;
      if (event.type !== 'BOOKMARK') onEvent(event);
    }
    return true;
  }
  const retry = new Retry(() => void follow());
  async function follow(): Promise<void> {
    current?.abort();
    const mine = new AbortController();
    current = mine;
    try {
      if (!(await inTurn(mine.signal, read)) && !isFresh) return onEnd();
    } catch (error) {
      if (mine.signal.aborted) return;
      const problem = asProblem(error);
      if (problem.status === 410 && !isFresh) return onEnd();
      if (!isFinal(problem)) retry.plan(problem);
      return onProblem?.(problem);
    }
    // Watches end from time to time, and continue where they ended.
    setTimeout(() => {
      if (!mine.signal.aborted) void follow();
    }, againMs);
  }
  function onVisibility(): void {
    if (document.visibilityState !== 'visible') current?.abort();
    else if (isFresh) void follow();
    else onEnd();
  }
  if (document.visibilityState === 'visible') void follow();
  document.addEventListener('visibilitychange', onVisibility);
  return () => {
    document.removeEventListener('visibilitychange', onVisibility);
    retry.stop();
    current?.abort();
  };
}

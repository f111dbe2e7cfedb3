/** Watches of the Kubernetes API, read by `fetch`: the demo's cluster has no WebSockets for them. */
import { call } from './client';
import { parseJson } from './json';
import { isFinal } from './lost';
import { asProblem, isAbort, type Problem } from './problem';
import { inTurn } from './turns';

export interface WatchEvent<T> {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  object: T;
}

async function* linesOf(response: Response): AsyncGenerator<string> {
  if (response.body === null) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const lines = (rest + part.value).split('\n');
    rest = lines.pop() ?? '';
    yield* lines.filter((line) => line !== '');
  }
}

interface Watched<T> {
  /** Of the resource, below the base path. */
  path: string;
  /** Which of them; all without one. */
  fieldSelector?: string;
  labelSelector?: string;
  /** The form of the objects: a row of a table comes without the object. */
  Accept?: string;
  /** From where; empty from what there is now. */
  resourceVersion: string;
  /** Begins with what there is whenever the watch is opened: no version can be too old, and `onEnd` is never called. */
  isFresh?: boolean;
  /** The API server has accepted the watch. */
  onOpen?: () => void;
  onEvent: (event: WatchEvent<T>) => void;
  /** It cannot go on: a new list is needed. */
  onEnd: () => void;
  /** It could not be read just now; undefined once it is read again. */
  onProblem?: (problem: Problem | undefined) => void;
}

/** In some answers only the rows of a table have versions. */
interface Versioned {
  metadata: { resourceVersion?: string };
  rows?: readonly { object: { metadata: { resourceVersion?: string } } }[] | null;
}

const versionOf = ({ metadata, rows }: Versioned): string | undefined =>
  metadata.resourceVersion || rows?.at(-1)?.object.metadata.resourceVersion || undefined;

const againMs = 2000;

/** What becomes of a list of the Kubernetes API, while the page can be seen. @returns what stops it */
export function watchObjects<T extends Versioned>({
  path,
  fieldSelector = '',
  labelSelector = '',
  Accept = 'application/json',
  isFresh = false,
  onOpen,
  onEvent,
  onEnd,
  onProblem,
  ...from
}: Watched<T>): () => void {
  let { resourceVersion } = from;
  let current: AbortController | undefined;

  /** @returns false if it cannot go on from here */
  async function read(signal: AbortSignal): Promise<boolean> {
    const query = new URLSearchParams({
      ...{ watch: 'true', allowWatchBookmarks: 'true' },
      ...(resourceVersion && !isFresh && { resourceVersion }),
      ...(fieldSelector && { fieldSelector }),
      ...(labelSelector && { labelSelector }),
    });
    const response = await call(`${path}?${query}`, { headers: { Accept }, signal });
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
  async function follow(): Promise<void> {
    current?.abort();
    const mine = new AbortController();
    current = mine;
    try {
      if (!(await inTurn(mine.signal, read)) && !isFresh) return onEnd();
    } catch (error) {
      if (mine.signal.aborted || isAbort(error)) return;
      const problem = asProblem(error);
      if (problem.status === 410 && !isFresh) return onEnd();
      onProblem?.(problem);
      if (isFinal(problem)) return;
    }
    // It ends by itself from time to time, and goes on where it was.
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
    current?.abort();
  };
}

import { socketAt } from './watch';

interface WatchedEvent<T> {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  object: T;
}

interface Watched<T> {
  /** Of the resource, below the base path. */
  path: string;
  resourceVersion: string;
  onEvent: (event: WatchedEvent<T>) => void;
  /** It cannot go on: a new list is needed. */
  onEnd: () => void;
}

const againMs = 1000;
const longestAgainMs = 60_000;

/** What becomes of a list of the Kubernetes API, while the page can be seen. @returns what stops it */
export function watchObjects<T extends { metadata: { resourceVersion?: string } }>({ path, onEvent, onEnd, ...from }: Watched<T>): () => void {
  let { resourceVersion } = from;
  let socket: WebSocket | undefined;
  let again: ReturnType<typeof setTimeout> | undefined;
  let wait = againMs;

  function open(): void {
    const mine = socketAt(path, new URLSearchParams({ watch: 'true', allowWatchBookmarks: 'true', resourceVersion }));
    socket = mine;
    mine.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      const event = JSON.parse(typeof data === 'string' ? data : new TextDecoder().decode(data)) as WatchedEvent<T>;
      if (event.type === 'ERROR') return onEnd();
      resourceVersion = event.object.metadata.resourceVersion ?? resourceVersion;
      wait = againMs;
      if (event.type !== 'BOOKMARK') onEvent(event);
    };
    // It ends by itself from time to time, and goes on where it was.
    mine.onclose = () => {
      if (socket !== mine) return;
      again = setTimeout(open, wait);
      wait = Math.min(2 * wait, longestAgainMs);
    };
  }
  function close(): void {
    const old = socket;
    socket = undefined;
    clearTimeout(again);
    old?.close();
  }
  function onVisibility(): void {
    if (document.visibilityState === 'visible') onEnd();
    else close();
  }
  open();
  document.addEventListener('visibilitychange', onVisibility);
  return () => {
    document.removeEventListener('visibilitychange', onVisibility);
    close();
  };
}

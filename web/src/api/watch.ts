/** What lasts below the Kubernetes API is a WebSocket: it takes none of the few connections that a browser has for requests. */
import { useEffect } from 'preact/hooks';
import { base } from './client';

export function socketAt(path: string, query: URLSearchParams, protocols: string[] = []): WebSocket {
  const url = new URL(`${path}?${query}`, base);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  const socket = new WebSocket(url, protocols);
  socket.binaryType = 'arraybuffer';
  return socket;
}

const pauseMs = 300;
const againMs = 1000;
const longestAgainMs = 60_000;

interface WatchOptions {
  /** Of the list. Without one nothing is watched. */
  path: string | undefined;
  fieldSelector: string;
  /** From where. */
  resourceVersion: string | undefined;
}

/** Calls back, at most a few times a second, when one of the objects has changed: while the page can be seen. */
export function useWatch({ path, fieldSelector, resourceVersion }: WatchOptions, onChange: () => void): void {
  const isReady = path !== undefined && resourceVersion !== undefined;
  useEffect(() => {
    if (path === undefined || resourceVersion === undefined) return;
    let socket: WebSocket | undefined;
    let changed: ReturnType<typeof setTimeout> | undefined;
    let again: ReturnType<typeof setTimeout> | undefined;
    let from: string | undefined = resourceVersion;
    let wait = againMs;
    const tell = () => {
      changed ??= setTimeout(() => {
        changed = undefined;
        onChange();
      }, pauseMs);
    };
    const open = () => {
      if (document.visibilityState !== 'visible') return;
      const mine = socketAt(path, new URLSearchParams({ watch: 'true', fieldSelector, ...(from && { resourceVersion: from }) }));
      socket = mine;
      mine.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
        const { type, object } = JSON.parse(typeof data === 'string' ? data : new TextDecoder().decode(data)) as WatchMessage;
        // Too old: from what there is now.
        from = type === 'ERROR' ? undefined : object.metadata?.resourceVersion;
        wait = againMs;
        tell();
      };
      mine.onclose = () => {
        if (socket !== mine) return;
        again = setTimeout(open, wait);
        wait = Math.min(2 * wait, longestAgainMs);
      };
    };
    const onVisibility = () => {
      const old = socket;
      socket = undefined;
      clearTimeout(again);
      old?.close();
      if (document.visibilityState !== 'visible') return;
      tell();
      open();
    };
    open();
    document.addEventListener('visibilitychange', onVisibility);
    return () => {
      document.removeEventListener('visibilitychange', onVisibility);
      clearTimeout(changed);
      clearTimeout(again);
      const old = socket;
      socket = undefined;
      old?.close();
    };
  }, [path, fieldSelector, isReady]);
}

interface WatchMessage {
  type: string;
  object: { metadata?: { resourceVersion?: string } };
}

import { base } from './client';
import { parseJson } from './json';

interface LiveEvent<T> {
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  object: T;
}

interface LiveOptions<T> {
  /** Path with its query, below the base path; `resourceVersion` says from where. */
  address: string;
  onEvent: (event: LiveEvent<T>) => void;
  /** It has ended: a new list is needed before it goes on. */
  onEnd: () => void;
  /** It is lost, and tried again; or it is there. */
  onLost: (isLost: boolean) => void;
}

/** A stream that was never there is not asked for at once again. */
const pauseMs = 2000;

const types = ['ADDED', 'MODIFIED', 'DELETED'] as const;

/**
 * A live list, while the page can be seen. EventSource hides the status of a refusal; it connects again by itself, from the last event,
 * and ends where the service says that it has ended. @returns what stops it
 */
export function follow<T>({ address, onEvent, onEnd, onLost }: LiveOptions<T>): () => void {
  let source: EventSource | undefined;
  let [wasSeen, wasThere] = [true, false];
  let pause: ReturnType<typeof setTimeout> | undefined;

  function open(): void {
    const stream = new EventSource(new URL(address, base));
    source = stream;
    stream.addEventListener('open', () => {
      wasThere = true;
      onLost(false);
    });
    for (const type of types)
      stream.addEventListener(type, ({ data }: MessageEvent<string>) =>
        onEvent({ type, object: (parseJson(data) as { object: T }).object }),
      );
    stream.addEventListener('ERROR', () => {
      stream.close();
      onEnd();
    });
    stream.addEventListener('error', () => {
      if (source !== stream) return;
      onLost(true);
      if (stream.readyState !== EventSource.CLOSED) return;
      if (wasThere) onEnd();
      else pause = setTimeout(onEnd, pauseMs);
    });
  }
  function onVisibility(): void {
    const isSeen = document.visibilityState === 'visible';
    if (isSeen === wasSeen) return;
    wasSeen = isSeen;
    if (isSeen) onEnd();
    else source?.close();
  }
  open();
  document.addEventListener('visibilitychange', onVisibility);
  return () => {
    document.removeEventListener('visibilitychange', onVisibility);
    clearTimeout(pause);
    source?.close();
    source = undefined;
  };
}

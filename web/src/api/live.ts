import { base, call } from './client';
import { parseJson } from './json';
import { linesOf } from './lines';
import { away, probe, Retry } from './outage';
import { asProblem, noAnswer } from './problem';
import { isViewed } from './view';

interface LiveEvent<T> {
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  object: T;
}

interface LiveOptions<T> {
  /** Path with its query, below the base path; `resourceVersion` is the version to begin at. */
  address: string;
  onEvent: (event: LiveEvent<T>) => void;
  /** The stream has ended: a new list is needed to continue. */
  onEnd: () => void;
  /** The stream is lost and retried, or it is back. */
  onLost: (isLost: boolean) => void;
}

const types = ['ADDED', 'MODIFIED', 'DELETED'] as const;
const isChange = (type: string): type is (typeof types)[number] => types.some((known) => known === type);

/**
 * Follows a live list while the page is visible. EventSource hides the status of a refusal; it reconnects by itself from the last event,
 * and ends when the service reports the end.
 *
 * @returns a function that stops it
 */
export function follow<T>(options: LiveOptions<T>): () => void {
  return isViewed(new URL(options.address, base)) ? followView(options) : followStream(options);
}

/** Follows a live list as the viewed user: an EventSource sends no headers. */
function followView<T>({ address, onEvent, onEnd, onLost }: LiveOptions<T>): () => void {
  const abort = new AbortController();
  const retry = new Retry(onEnd);
  async function read(): Promise<void> {
    let problem = noAnswer();
    try {
      const response = await call(address, { headers: { Accept: 'text/event-stream' }, signal: abort.signal });
      onLost(false);
      for await (const line of linesOf(response)) {
        if (!line.startsWith('data: ')) continue;
        const { type, object } = parseJson(line.slice('data: '.length)) as { type: string; object: T };
        if (type === 'ERROR') break;
        if (isChange(type)) onEvent({ type, object });
      }
    } catch (error) {
      problem = asProblem(error);
      onLost(true);
    }
    if (!abort.signal.aborted) retry.plan(problem);
  }
  void read();
  return () => {
    abort.abort();
    retry.stop();
  };
}

function followStream<T>({ address, onEvent, onEnd, onLost }: LiveOptions<T>): () => void {
  let source: EventSource | undefined;
  let [wasSeen, wasThere] = [true, false];
  const retry = new Retry(onEnd, 1);

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
      void probe();
      const isOver = stream.readyState === EventSource.CLOSED;
      // The browser repeats a stream every few seconds, for ever.
      if (!isOver && away.peek() === undefined) return;
      stream.close();
      if (isOver && wasThere) onEnd();
      else retry.plan(noAnswer());
    });
  }
  function onVisibility(): void {
    const isSeen = document.visibilityState === 'visible';
    if (isSeen === wasSeen) return;
    wasSeen = isSeen;
    retry.stop();
    if (isSeen) onEnd();
    else source?.close();
  }
  open();
  document.addEventListener('visibilitychange', onVisibility);
  return () => {
    document.removeEventListener('visibilitychange', onVisibility);
    retry.stop();
    source?.close();
    source = undefined;
  };
}

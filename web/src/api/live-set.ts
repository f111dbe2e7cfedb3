/** Short list that is followed while the console is open. */
import { follow } from './live';
import { isFinal } from './lost';
import { Retry } from './outage';
import { asProblem } from './problem';

interface LiveRow {
  metadata: { uid: string };
}

interface LiveSetOptions<T extends LiveRow> {
  read: (signal: AbortSignal) => Promise<{ items: readonly T[]; metadata: { resourceVersion: string } }>;
  /** Address of the live list from a version on; undefined to read the list at intervals. */
  address: ((resourceVersion: string) => string) | undefined;
  /** Called with all rows, after each change. */
  onRows: (rows: readonly T[]) => void;
}

const pollMs = 30_000;

/**
 * Reads a list, and applies its changes. Failures are retried; a refusal ends it, and the last rows stay.
 *
 * @returns a function that stops it
 */
export function followSet<T extends LiveRow>({ read, address, onRows }: LiveSetOptions<T>): () => void {
  const over = new AbortController();
  let stop = () => {};
  let timer: ReturnType<typeof setTimeout> | undefined;
  const retry = new Retry(() => void begin());
  const again = (afterMs: number) => {
    stop();
    clearTimeout(timer);
    if (!over.signal.aborted) timer = setTimeout(() => void begin(), afterMs);
  };
  async function begin(): Promise<void> {
    try {
      const { items, metadata } = await read(over.signal);
      if (over.signal.aborted) return;
      retry.succeeded();
      const rows = new Map(items.map((item) => [item.metadata.uid, item]));
      onRows([...rows.values()]);
      if (address === undefined) return again(pollMs);
      stop = follow<T>({
        address: address(metadata.resourceVersion),
        onEvent({ type, object }) {
          if (type === 'DELETED') rows.delete(object.metadata.uid);
          else rows.set(object.metadata.uid, object);
          onRows([...rows.values()]);
        },
        onEnd: () => again(0),
        onLost: () => undefined,
      });
    } catch (error) {
      const problem = asProblem(error);
      if (!over.signal.aborted && !isFinal(problem)) retry.plan(problem);
    }
  }
  void begin();
  return () => {
    over.abort();
    retry.stop();
    clearTimeout(timer);
    stop();
  };
}

/** Log of a container by WebSocket. A lost connection is resumed where it ended. */
import { call } from '../../../api/client';
import { isFinal } from '../../../api/lost';
import { asProblem, Problem } from '../../../api/problem';
import { socketAt } from '../../../api/socket';
import { viewed } from '../../../api/view';
import { t } from '../../../text/text';

/** The API server closes a complete log with this code. Any other code, such as 1006 of a proxy that timed out, is a lost connection. */
const normalClosure = 1000;
/** The service closes a log with this code when its right or credential ends. */
const policyViolation = 1008;
const [firstPauseMs, longestPauseMs] = [1000, 30_000];
/** Number of lines that a stream begins with if no age is chosen. */
export const tailLines = 1000;

interface LogStreamOptions {
  path: string;
  /** Name of the container, and whether its previous run is requested. */
  asked: Readonly<Record<string, string>>;
  /** Age of the oldest line; unset for the newest lines of any age. */
  sinceSeconds?: number | undefined;
  /** Continues a log that was read before; without it the stream begins with the newest lines. */
  since?: string | undefined;
  onData: (data: ArrayBuffer) => void;
  /** @returns the time to resume from; undefined to begin again */
  onLost: () => string | undefined;
  onOpen: () => void;
  /** The log has ended, or cannot be read. */
  onEnd: (problem?: Problem) => void;
}

/** @returns a function that stops it */
export function followLog({ path, asked, sinceSeconds, since, onData, onLost, onOpen, onEnd }: LogStreamOptions): () => void {
  let [isLeft, pauseMs] = [false, firstPauseMs];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const from = (sinceTime: string | undefined): Record<string, string> => {
    // The API server accepts one of the two.
    if (sinceTime !== undefined) return { sinceTime };
    return sinceSeconds ? { sinceSeconds: String(sinceSeconds) } : { tailLines: String(tailLines) };
  };
  const begin = viewed.peek() === undefined ? open : openView;
  let stopSocket = begin(from(since));

  function open(start: Record<string, string>): () => void {
    let wasOpen = false;
    const socket = socketAt(path, new URLSearchParams({ ...asked, ...start, timestamps: 'true' }), ['binary.k8s.io']);
    socket.onopen = () => {
      wasOpen = true;
      onOpen();
    };
    socket.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => {
      pauseMs = firstPauseMs;
      onData(data);
    };
    socket.onclose = ({ code }) => {
      if (isLeft) return;
      if (wasOpen && code === normalClosure) onEnd();
      else void (wasOpen && code !== policyViolation ? again() : refused());
    };
    return () => socket.close();
  }
  /** Reads the log of a view by `fetch`, because a WebSocket sends no headers. */
  function openView(start: Record<string, string>): () => void {
    const abort = new AbortController();
    void readView(start, abort.signal).then(
      () => !isLeft && onEnd(),
      (error: unknown) => {
        if (isLeft) return;
        const problem = asProblem(error);
        if (isFinal(problem)) onEnd(problem);
        else again();
      },
    );
    return () => abort.abort();
  }
  async function readView(start: Record<string, string>, signal: AbortSignal): Promise<void> {
    const { body } = await call(`${path}?${new URLSearchParams({ ...asked, ...start, timestamps: 'true' })}`, { signal });
    onOpen();
    const reader = body?.getReader();
    for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
      pauseMs = firstPauseMs;
      onData(part.value.slice().buffer);
    }
  }
  /** Requests the log to learn the reason of a refusal, which a WebSocket hides. */
  async function refused(): Promise<void> {
    const problem = await refusalOf(path, asked);
    if (isLeft) return;
    if (problem === undefined || isFinal(problem)) onEnd(problem ?? new Problem(0, { message: t('cluster.noStream') }));
    else again();
  }
  function again(): void {
    const lastTime = onLost();
    timer = setTimeout(() => {
      stopSocket = begin(from(lastTime));
    }, pauseMs);
    pauseMs = Math.min(2 * pauseMs, longestPauseMs);
  }
  return () => {
    isLeft = true;
    clearTimeout(timer);
    stopSocket();
  };
}

async function refusalOf(path: string, { follow: _, ...asked }: Readonly<Record<string, string>>): Promise<Problem | undefined> {
  try {
    await call(`${path}?${new URLSearchParams({ ...asked, tailLines: '1' })}`);
    return undefined;
  } catch (error) {
    return asProblem(error);
  }
}

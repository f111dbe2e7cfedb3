/** Log of a container by WebSocket. A lost connection is resumed where it ended. */
import { call } from '../../../api/client';
import { isFinal } from '../../../api/lost';
import { Retry } from '../../../api/outage';
import { asProblem, noAnswer, Problem } from '../../../api/problem';
import { socketAt } from '../../../api/socket';
import { viewed } from '../../../api/view';
import { t } from '../../../text/text';

/** The API server closes a complete log with this code. Any other code, such as 1006 of a proxy that timed out, is a lost connection. */
const normalClosure = 1000;
/** The service closes a log with this code when its right or credential ends. */
const policyViolation = 1008;
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
export function followLog(options: LogStreamOptions): () => void {
  const stream = new LogStream(options);
  return () => stream.stop();
}

class LogStream {
  readonly #options: LogStreamOptions;
  readonly #isView = viewed.peek() !== undefined;
  #isLeft = false;
  #lastTime: string | undefined;
  readonly #retry = new Retry(() => {
    this.#stopReading = this.#begin(this.#lastTime);
  });
  #stopReading: () => void;

  constructor(options: LogStreamOptions) {
    this.#options = options;
    this.#stopReading = this.#begin(options.since);
  }

  stop(): void {
    this.#isLeft = true;
    this.#retry.stop();
    this.#stopReading();
  }

  #begin(sinceTime: string | undefined): () => void {
    const query = new URLSearchParams({ ...this.#options.asked, ...this.#startAt(sinceTime), timestamps: 'true' });
    return this.#isView ? this.#openView(query) : this.#open(query);
  }

  #startAt(sinceTime: string | undefined): Record<string, string> {
    const { sinceSeconds } = this.#options;
    // The API server accepts one of the two.
    if (sinceTime !== undefined) return { sinceTime };
    return sinceSeconds ? { sinceSeconds: String(sinceSeconds) } : { tailLines: String(tailLines) };
  }

  #open(query: URLSearchParams): () => void {
    const { path, onOpen, onEnd } = this.#options;
    let wasOpen = false;
    const socket = socketAt(path, query, ['binary.k8s.io']);
    socket.onopen = () => {
      wasOpen = true;
      onOpen();
    };
    socket.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => this.#take(data);
    socket.onclose = ({ code }) => {
      if (this.#isLeft) return;
      if (wasOpen && code === normalClosure) onEnd();
      else void (wasOpen && code !== policyViolation ? this.#again(noAnswer()) : this.#refused());
    };
    return () => socket.close();
  }

  /** Reads the log of a view by `fetch`, because a WebSocket sends no headers. */
  #openView(query: URLSearchParams): () => void {
    const abort = new AbortController();
    void this.#readView(query, abort.signal).then(
      () => !this.#isLeft && this.#options.onEnd(),
      (error: unknown) => !this.#isLeft && this.#failed(asProblem(error)),
    );
    return () => abort.abort();
  }

  async #readView(query: URLSearchParams, signal: AbortSignal): Promise<void> {
    const { body } = await call(`${this.#options.path}?${query}`, { signal });
    this.#options.onOpen();
    const reader = body?.getReader();
    for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) this.#take(part.value.slice().buffer);
  }

  #take(data: ArrayBuffer): void {
    this.#retry.succeeded();
    this.#options.onData(data);
  }

  /** Requests the log to learn the reason of a refusal, which a WebSocket hides. */
  async #refused(): Promise<void> {
    const problem = await refusalOf(this.#options.path, this.#options.asked);
    if (this.#isLeft) return;
    if (problem === undefined) this.#options.onEnd(new Problem(0, { message: t('cluster.noStream') }));
    else this.#failed(problem);
  }

  #failed(problem: Problem): void {
    if (isFinal(problem)) this.#options.onEnd(problem);
    else this.#again(problem);
  }

  #again(problem: Problem): void {
    this.#lastTime = this.#options.onLost();
    this.#retry.plan(problem);
  }
}

async function refusalOf(path: string, { follow: _, ...asked }: Readonly<Record<string, string>>): Promise<Problem | undefined> {
  try {
    await call(`${path}?${new URLSearchParams({ ...asked, tailLines: '1' })}`);
    return undefined;
  } catch (error) {
    return asProblem(error);
  }
}

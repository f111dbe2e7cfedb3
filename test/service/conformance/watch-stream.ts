import { createInterface } from 'node:readline';
import type { Dispatcher } from 'undici';
import { z } from 'zod';

const watchEvent = z.object({
  type: z.string(),
  object: z.looseObject({
    kind: z.string().optional(),
    metadata: z.looseObject({
      name: z.string().optional(),
      resourceVersion: z.string().optional(),
      annotations: z.record(z.string(), z.string()).optional(),
    }),
  }),
});
export type WatchEvent = z.infer<typeof watchEvent>;

const patience = 60_000;

/** An open watch, whose events are read one by one, each within a minute. */
export class WatchStream {
  readonly status: number;
  readonly #lines: AsyncIterator<string>;
  readonly #abort: AbortController;

  constructor(response: Dispatcher.ResponseData, abort: AbortController) {
    this.status = response.statusCode;
    this.#abort = abort;
    response.body.on('error', () => {});
    this.#lines = createInterface({ input: response.body })[Symbol.asyncIterator]();
  }

  /** Returns the next event, or undefined when the server has ended the stream. */
  async next(): Promise<WatchEvent | undefined> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('no watch event in time')), patience);
    });
    const line = await Promise.race([this.#lines.next(), late]).finally(() => clearTimeout(timer));
    return line.done ? undefined : watchEvent.parse(JSON.parse(line.value));
  }

  /** Returns the events up to and with the first for which `isLast` holds. */
  async until(isLast: (event: WatchEvent) => boolean): Promise<WatchEvent[]> {
    const events: WatchEvent[] = [];
    for (;;) {
      const event = await this.next();
      if (!event) throw new Error(`the watch ended after ${JSON.stringify(events)}`);
      events.push(event);
      if (isLast(event)) return events;
    }
  }

  close(): void {
    this.#abort.abort();
  }
}

/** Returns `TYPE name`, as tests compare events. */
export const label = (event: WatchEvent | undefined) => (event ? `${event.type} ${event.object.metadata.name ?? ''}` : 'end');

import { eventually } from '../../support/cluster-admin.ts';

export interface ServerSentEvent {
  event: string;
  id: string | undefined;
  data: {
    type: string;
    object: {
      kind?: string;
      code?: number;
      auditID?: string;
      metadata?: { name?: string; resourceVersion?: string };
      spec?: { username?: string };
    };
  };
}

/** Reads the events of a stream of server-sent events. */
export class EventStream {
  readonly events: ServerSentEvent[] = [];
  comments = 0;
  isOver = false;
  readonly #response: { body: AsyncIterable<Uint8Array> | null };
  readonly #reading: Promise<void>;

  constructor(response: { body: AsyncIterable<Uint8Array> | null }) {
    this.#response = response;
    this.#reading = this.#read();
  }

  /** Returns events such as `ADDED jane@example.com`, with the names that the test uses. */
  told(nameOf: (name: string) => string = (name) => name): string[] {
    return this.events
      .filter(({ event }) => event !== 'BOOKMARK')
      .map(({ event, data }) => `${event} ${nameOf(data.object.metadata?.name ?? String(data.object.code))}`);
  }

  until(isTold: (events: readonly ServerSentEvent[]) => boolean): Promise<readonly ServerSentEvent[]> {
    return eventually(() => this.events, isTold);
  }

  /** Waits for an event such as `ADDED jane@example.com`. */
  untilTold(line: string): Promise<string[]> {
    return eventually(
      () => this.told(),
      (lines) => lines.includes(line),
    );
  }

  /** Waits until the present objects are told. */
  untilPresent(): Promise<readonly ServerSentEvent[]> {
    return this.until((events) => events.some(({ event }) => event === 'BOOKMARK'));
  }

  /** Waits for the end, and returns the code of the error that it tells. */
  async untilError(): Promise<number | undefined> {
    await this.untilOver();
    return this.events.findLast(({ event }) => event === 'ERROR')?.data.object.code;
  }

  untilOver(): Promise<boolean> {
    return eventually(
      () => this.isOver,
      (isOver) => isOver,
    );
  }

  /** Returns the last id, which an EventSource sends when it reconnects. */
  get lastEventID(): string {
    return this.events.reduce((last, { id }) => id ?? last, '');
  }

  async close(): Promise<void> {
    await this.#reading;
  }

  async #read(): Promise<void> {
    let rest = '';
    try {
      const decoder = new TextDecoder();
      for await (const chunk of this.#response.body ?? []) {
        const blocks = (rest + decoder.decode(chunk, { stream: true })).split('\n\n');
        rest = blocks.pop() ?? '';
        for (const block of blocks) this.#take(block);
      }
    } catch {
      // A cut connection ends the stream as well.
    }
    this.isOver = true;
  }

  #take(block: string): void {
    const fields = new Map<string, string>();
    for (const line of block.split('\n')) {
      const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
      if (name === '') this.comments += 1;
      else fields.set(name, value);
    }
    const data = fields.get('data');
    if (data !== undefined) this.events.push({ event: fields.get('event') ?? '', id: fields.get('id'), data: JSON.parse(data) });
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Recording, RecordingStore } from '@atrium/audit-store/recording.ts';
import { wellFormed } from '../audit/storable-event.ts';

const compressed = promisify(gzip);

/** Characters of the lines in one part. */
const partSize = 256 * 1024;
/** Characters that wait or are on their way. More of them make the shell wait, or are lost. */
const maxWaiting = 1024 * 1024;
const retryMs = 1_000;

export type SenderState = Pick<Recording, 'seconds' | 'bytes'>;

interface Line {
  text: string;
  /** Milliseconds since the begin of the recording. */
  at: number;
}

interface SenderOptions {
  store: RecordingStore;
  /** Returns the present state of the recording, without what the sender counts. */
  recording(): Omit<Recording, keyof SenderState>;
  /** Called when a part was kept, so that there may be room again. */
  onKept(): void;
  /** Called when the recording does not exist any more. */
  onGone(): void;
  onFailure(error: unknown): void;
  /** Returns the milliseconds since the begin of the recording. */
  elapsed(): number;
}

/** Hands the lines of one recording to the store, in parts and in their order. */
export class RecordingSender {
  readonly #options: SenderOptions;
  #lines: Line[] = [];
  #waiting = 0;
  #onTheWay = 0;
  #isBegun = false;
  #number = 0;
  #state: SenderState = { seconds: 0, bytes: 0 };
  /** Time of the first line that is on its way. */
  #oldest: number | undefined;
  #sending: Promise<void> | undefined;
  readonly #stopped = new AbortController();

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  get hasRoom(): boolean {
    return this.waiting < maxWaiting;
  }

  /** Characters that the store does not have yet. */
  get waiting(): number {
    return this.#waiting + this.#onTheWay;
  }

  /** True for so many lines that they must be sent at once. */
  get isDue(): boolean {
    return this.#waiting >= partSize;
  }

  /** Returns the milliseconds that the oldest line waits for the store. */
  get lagMs(): number {
    const since = this.#oldest ?? this.#lines[0]?.at;
    return since === undefined ? 0 : this.#options.elapsed() - since;
  }

  /** Creates the recording in the store. @throws what the store throws */
  async begin(): Promise<void> {
    await this.#keep(true);
    this.#isBegun = true;
  }

  add(line: Line): void {
    this.#lines.push(line);
    this.#waiting += line.text.length;
  }

  /** Sends what waits, unless that is on its way. Never throws. */
  send(): void {
    if (this.#stopped.signal.aborted || (this.#isBegun && this.#lines.length === 0)) return;
    this.#sending ??= this.#deliver()
      .catch(this.#options.onFailure)
      .finally(() => {
        this.#sending = undefined;
        if (this.isDue) this.send();
      });
  }

  /** Sends all lines and the last state of the recording; gives up after a time. @returns whether the store has all */
  async finish(withinMs: number): Promise<boolean> {
    const over = globalThis.setTimeout(() => this.#stopped.abort(), withinMs).unref();
    try {
      while (this.#lines.length > 0 || this.#sending !== undefined) {
        this.send();
        await this.#sending;
        if (this.#stopped.signal.aborted) return false;
      }
      return await this.#repeated(async () => (this.#isBegun ? this.#keep(false) : this.begin()));
    } finally {
      clearTimeout(over);
      this.#stopped.abort();
    }
  }

  /** Drops what waits. */
  drop(): void {
    this.#stopped.abort();
    this.#lines = [];
    this.#waiting = 0;
  }

  async #deliver(): Promise<void> {
    if (!this.#isBegun && !(await this.#repeated(() => this.begin()))) return;
    while (this.#lines.length > 0 && !this.#stopped.signal.aborted) {
      const lines = this.#nextLines();
      const text = lines.map((line) => line.text).join('');
      const part = { number: this.#number + 1, lines: (await compressed(text)).toString('base64') };
      this.#state = { seconds: (lines.at(-1)?.at ?? 0) / 1000, bytes: this.#state.bytes + Buffer.byteLength(text) };
      const isKept = await this.#repeated(() => this.#keep(false, part));
      if (!isKept) return;
      this.#number += 1;
      this.#onTheWay = 0;
      this.#oldest = undefined;
      this.#options.onKept();
      // A few lines wait for others.
      if (!this.isDue) return;
    }
  }

  #nextLines(): Line[] {
    let [count, size] = [0, 0];
    while (count < this.#lines.length && (count === 0 || size + (this.#lines[count]?.text.length ?? 0) <= partSize)) {
      size += this.#lines[count]?.text.length ?? 0;
      count += 1;
    }
    this.#waiting -= size;
    this.#onTheWay = size;
    this.#oldest = this.#lines[0]?.at;
    return this.#lines.splice(0, count);
  }

  /** Repeats a call until it succeeds. Returns false if the sender has stopped before. */
  async #repeated(call: () => Promise<void>): Promise<boolean> {
    while (!this.#stopped.signal.aborted) {
      try {
        await call();
        return !this.#stopped.signal.aborted;
      } catch (error) {
        this.#options.onFailure(error);
        await sleep(retryMs, undefined, { signal: this.#stopped.signal }).catch(() => undefined);
      }
    }
    return false;
  }

  async #keep(isNew: boolean, part?: { number: number; lines: string }): Promise<void> {
    const { store, recording, onGone } = this.#options;
    const isKept = await store.keep({ recording: wellFormed({ ...recording(), ...this.#state }), isNew, ...(part && { part }) });
    if (isKept) return;
    this.drop();
    onGone();
  }
}

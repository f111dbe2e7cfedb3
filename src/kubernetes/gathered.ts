import { Readable } from 'node:stream';
import { codeOf, failureOf } from './transport.ts';

/** Bytes of an answer that are collected and sent at once. */
const partBytes = 64 * 1024;

/**
 * Collects a finite answer for few writes, because the API server sends a list item by item. Not for a watch or a log, whose reader waits
 * for each piece.
 *
 * @returns a short answer as a whole, a longer one in parts
 * @throws the reason of the signal if it aborts; StatusError 503, 504 if the answer breaks off within the first part
 */
export function gathered(body: Readable, signal: AbortSignal): Promise<Buffer | Readable> {
  return new Parts(body).begun.catch((error: unknown) => {
    throw failureOf(error, signal, { hasPassed: codeOf(error) === 'UND_ERR_BODY_TIMEOUT' });
  });
}

/**
 * Collects pieces into parts. Pieces are copied, because references from an old object would keep them in memory until a full garbage
 * collection.
 */
class Parts extends Readable {
  readonly #source: Readable;
  readonly #begun = Promise.withResolvers<Buffer | Readable>();
  #part: Buffer | undefined;
  #filled = 0;

  constructor(source: Readable) {
    super({ highWaterMark: partBytes });
    this.#source = source;
    // The reader receives the error, too.
    this.on('error', () => undefined);
    source.on('data', (chunk: Buffer) => this.#take(chunk));
    source.once('end', () => this.#end());
    source.once('error', (error: Error) => this.#fail(error));
    source.once('close', () => this.#fail(new Error('the answer broke off')));
  }

  /** Resolves with the answer if it fits into one part, otherwise with this stream. */
  get begun(): Promise<Buffer | Readable> {
    return this.#begun.promise;
  }

  override _read(): void {
    this.#source.resume();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#source.destroy();
    done(error);
  }

  #take(chunk: Buffer): void {
    for (let taken = 0; taken < chunk.length; ) {
      if (this.#filled === partBytes) this.#send();
      this.#part ??= Buffer.allocUnsafeSlow(partBytes);
      const length = chunk.copy(this.#part, this.#filled, taken);
      taken += length;
      this.#filled += length;
    }
  }

  #send(): void {
    const isWanted = this.push(this.#rest());
    this.#part = undefined;
    this.#filled = 0;
    this.#begun.resolve(this);
    if (!isWanted) this.#source.pause();
  }

  #rest(): Buffer {
    return this.#part?.subarray(0, this.#filled) ?? Buffer.alloc(0);
  }

  #end(): void {
    const rest = this.#rest();
    this.#begun.resolve(rest);
    this.push(rest);
    this.push(null);
  }

  #fail(error: Error): void {
    if (this.#source.readableEnded) return;
    this.#begun.reject(error);
    this.destroy(error);
  }
}

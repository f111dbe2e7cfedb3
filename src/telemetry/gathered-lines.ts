import type { Destination } from './log.ts';

const isOrdinary = /^\{"level":"(?:info|debug)"/;

/**
 * Writes the lines of one turn of the event loop together: each write is a call to the kernel, and one for each request costs a tenth
 * of what the request does. A line that tells of trouble is written at once, with all before it.
 */
export class GatheredLines implements Destination {
  readonly #destination: Destination;
  readonly #flush = () => this.flush();
  #lines = '';

  constructor(destination: Destination) {
    this.#destination = destination;
  }

  write(line: string): void {
    if (this.#lines === '') setImmediate(this.#flush);
    this.#lines += line;
    if (!isOrdinary.test(line)) this.flush();
  }

  /** To be called when the process ends, so that nothing is lost. */
  flush(): void {
    const lines = this.#lines;
    this.#lines = '';
    if (lines !== '') this.#destination.write(lines);
  }
}

import type { IncomingMessage } from 'node:http';
import { EvictionQueue } from './eviction-queue.ts';
import { Deadlines, type Due } from './shared-timer.ts';

const defaultCutAfterMs = 10_000;
/** Of a body that may take longer, in that time. */
const minBytes = 16 * 1024;
const maxPerNetwork = 200;

export interface UnfinishedBody {
  request: IncomingMessage;
  /** Client network. */
  network: string;
  /** Whether the operation takes long bodies: then it is enough that it goes on coming. */
  isStreamed: () => boolean;
  /** It is there, or the answer has begun without it. */
  done(): void;
  /** It is taking too long, or others wait for its place. */
  cut(reason: 'slow' | 'crowded'): void;
}

/**
 * Requests whose body has not come yet. They are not in flight: who announces a body and sends none must not keep others out. Beyond a
 * bound the oldest of the same network makes room, and else the oldest of all, so that a body that comes at once is always taken.
 */
export class UnfinishedBodies {
  readonly #cutAfterMs: number;
  readonly #deadlines = new Deadlines();
  readonly #queue: EvictionQueue<UnfinishedBody>;
  readonly #looks = new Map<UnfinishedBody, Due>();

  /** @param cutAfterMs how long a body may take that is not streamed */
  constructor(max: number, cutAfterMs = defaultCutAfterMs) {
    this.#queue = new EvictionQueue({ perNetwork: maxPerNetwork, inAll: max }, (body) => this.#makeRoom(body));
    this.#cutAfterMs = cutAfterMs;
  }

  add(body: UnfinishedBody): void {
    this.#looks.set(body, this.#watch(body));
    body.request.once('end', () => this.#settle(body));
    this.#queue.add(body);
  }

  /** The request has ended, whatever became of its body. */
  remove(body: UnfinishedBody): boolean {
    this.#queue.remove(body);
    const look = this.#looks.get(body);
    if (look === undefined) return false;
    this.#deadlines.clear(look);
    return this.#looks.delete(body);
  }

  #settle(body: UnfinishedBody): void {
    if (this.remove(body)) body.done();
  }

  /** A body that is there, and only not read yet, is none of these. */
  #makeRoom(body: UnfinishedBody): void {
    if (body.request.complete) this.#settle(body);
    else if (this.remove(body)) body.cut('crowded');
  }

  #watch(body: UnfinishedBody): Due {
    const { request } = body;
    let seen = request.socket.bytesRead;
    const look: Due = {
      due: () => {
        if (request.complete) return this.#settle(body);
        const { bytesRead } = request.socket;
        // What has come and is not read yet is waiting for us, not for the caller.
        const goesOn = body.isStreamed() && (bytesRead - seen >= minBytes || request.readableLength > 0);
        seen = bytesRead;
        if (goesOn) this.#deadlines.set(look, this.#cutAfterMs);
        else if (this.remove(body)) body.cut('slow');
      },
    };
    this.#deadlines.set(look, this.#cutAfterMs);
    return look;
  }
}

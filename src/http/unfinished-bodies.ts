import type { IncomingMessage } from 'node:http';
import { networkOf } from './network.ts';
import { Deadlines, type Due } from './shared-timer.ts';

const defaultCutAfterMs = 10_000;
/** Of a body that may take longer, in that time. */
const minBytes = 16 * 1024;
const maxPerNetwork = 200;

export interface UnfinishedBody {
  request: IncomingMessage;
  /** Client address. */
  source: string;
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
  readonly #max: number;
  readonly #cutAfterMs: number;
  readonly #deadlines = new Deadlines();
  readonly #all = new Map<UnfinishedBody, Due>();
  readonly #byNetwork = new Map<string, Set<UnfinishedBody>>();

  /** @param cutAfterMs how long a body may take that is not streamed */
  constructor(max: number, cutAfterMs = defaultCutAfterMs) {
    this.#max = max;
    this.#cutAfterMs = cutAfterMs;
  }

  add(body: UnfinishedBody): void {
    const key = networkOf(body.source);
    const ofNetwork = this.#byNetwork.get(key) ?? new Set();
    this.#byNetwork.set(key, ofNetwork);
    ofNetwork.add(body);
    this.#all.set(body, this.#watch(body));
    body.request.once('end', () => this.#settle(body));
    if (ofNetwork.size > maxPerNetwork) this.#makeRoom(ofNetwork);
    if (this.#all.size > this.#max) this.#makeRoom(this.#all.keys());
  }

  /** The request has ended, whatever became of its body. */
  remove(body: UnfinishedBody): boolean {
    const look = this.#all.get(body);
    if (look === undefined) return false;
    this.#deadlines.clear(look);
    this.#all.delete(body);
    const key = networkOf(body.source);
    const ofNetwork = this.#byNetwork.get(key);
    ofNetwork?.delete(body);
    if (ofNetwork?.size === 0) this.#byNetwork.delete(key);
    return true;
  }

  #settle(body: UnfinishedBody): void {
    if (this.remove(body)) body.done();
  }

  /** A body that is there, and only not read yet, is none of these. */
  #makeRoom(oldestFirst: Iterable<UnfinishedBody>): void {
    for (const body of oldestFirst) {
      const { complete } = body.request;
      if (complete) this.#settle(body);
      else if (this.remove(body)) body.cut('crowded');
      return;
    }
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

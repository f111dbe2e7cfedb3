import { setTimeout as sleep } from 'node:timers/promises';
import { type AuditEvent, auditEvent } from '@atrium/audit-store/event.ts';
import type { AuditStore, ChainPart } from '@atrium/audit-store/store.ts';
import { type EventColumns, rowOf } from '@atrium/audit-store/tables.ts';
import { atMost } from '@atrium/http/limits/bounded-cache.ts';
import { abortable } from '@atrium/kubernetes/deadline.ts';
import { bookmark, commentMs, endEvents, event as eventText, tooOld } from '@atrium/lists/live-list.ts';
import { LRUCache } from 'lru-cache';

/** Interval of questions to the store, while live lists wait for events. */
const pollMs = 1_000;
/** Events in one question. */
const pageSize = 500;
/** Pages that live lists at the same place share. */
const maxPages = 16;
/** Events that a live list may be behind when it begins. */
const maxBehind = 10_000;

interface Arrival {
  sequence: number;
  /** Undefined for an event of a later version, which this one cannot show. */
  known: { event: AuditEvent; row: EventColumns } | undefined;
}

interface FollowOptions {
  /** Number of the event after which it begins. */
  after: number;
  /** Number of the newest event. */
  newest: number;
  matches(row: EventColumns): boolean;
  /** Returns the event as the client may see it. */
  shown(event: AuditEvent): AuditEvent;
  /** Ends the stream. A StatusError as its reason is sent before. */
  signal: AbortSignal;
}

/**
 * New events in the order of their arrival, for the live lists of a replica. All replicas read the numbers of one store, so that a client
 * resumes at any of them. Lists at the same place share a question.
 */
export class Arrivals {
  readonly #store: AuditStore;
  readonly #pages: LRUCache<number, Promise<Arrival[]>>;

  constructor(store: AuditStore, clock: () => number) {
    this.#store = store;
    this.#pages = new LRUCache({ ...atMost(maxPages), ttl: pollMs, ttlResolution: 0, perf: { now: clock } });
  }

  /**
   * Streams the events as server-sent events, ADDED with the number of each as its id. Events are read as fast as the client takes them.
   * While the store is away the stream waits.
   */
  async *follow({ after, newest, matches, shown, signal }: FollowOptions): AsyncGenerator<string> {
    if (after > newest || newest - after > maxBehind) {
      yield tooOld();
      return;
    }
    yield mark(after);
    let [place, told, silentMs] = [after, after, 0];
    while (!signal.aborted) {
      const page = await abortable(this.#read(place), signal).catch((): Arrival[] => []);
      // Retention has removed the events in between.
      if ((page[0]?.sequence ?? place + 1) !== place + 1) {
        yield tooOld();
        return;
      }
      for (const { sequence, known } of page) {
        if (signal.aborted || known === undefined || !matches(known.row)) continue;
        yield eventText('ADDED', JSON.stringify(shown(known.event)), String(sequence));
        [told, silentMs] = [sequence, 0];
      }
      place = page.at(-1)?.sequence ?? place;
      if (page.length > 0) continue;
      if (silentMs >= commentMs) {
        yield place > told ? `:\n${mark(place)}` : ':\n\n';
        [told, silentMs] = [place, 0];
      }
      await sleep(pollMs, undefined, { signal }).catch(() => undefined);
      silentMs += pollMs;
    }
    yield* endEvents(signal);
  }

  #read(after: number): Promise<Arrival[]> {
    const known = this.#pages.get(after);
    if (known !== undefined) return known;
    const page = this.#store.chain(after, pageSize).then(({ events }) => events.map(arrivalOf));
    this.#pages.set(after, page);
    return page;
  }
}

function arrivalOf({ sequence, event }: ChainPart['events'][number]): Arrival {
  const { data } = auditEvent.safeParse(event);
  return { sequence, known: data && { event: data, row: rowOf(data) } };
}

const mark = (sequence: number): string => bookmark({ apiVersion: 'auth.platform.io/v1', kind: 'AuditEvent' }, String(sequence));

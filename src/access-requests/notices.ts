/** Tells users and webhooks about requests. The leader does so, and writes each event that it has told into the status. */
import { timestamp } from '@atrium/kubernetes/clock.ts';
import type { Source, Term } from '@atrium/kubernetes/controllers/controller.ts';
import type { Outcome } from '@atrium/kubernetes/controllers/work-queue.ts';
import { report } from '@atrium/kubernetes/events.ts';
import type { accessEventTypes } from '../config/access-requests-section.ts';
import type { AccessContext } from './context.ts';
import { noticeCounter } from './metrics.ts';
import { accessRequestKind, type Decision, type Notice, type RequestRow } from './request.ts';
import { transition } from './status-writer.ts';

export type AccessEventType = (typeof accessEventTypes)[number];

/** Event of a request, which follows from the stored request alone, so that every replica finds the same events. */
export interface AccessEvent {
  /** Type and number, such as `decided-2`. */
  readonly id: string;
  readonly type: AccessEventType;
  readonly time: string;
  /** The decision of `decided` and `denied`. */
  readonly decision?: Decision;
}

const finalPhases: readonly string[] = ['Withdrawn', 'Lapsed', 'Ended'];

/** Returns the events of a request so far. */
function eventsOf({ phase, spec, decisions, created, told: { ended, binding, review } }: RequestRow): AccessEvent[] {
  if (phase === '' || spec === undefined) return [];
  const first = timestamp(new Date(created));
  const given = decisions.at(-1)?.time ?? first;
  const events = (type: AccessEventType, times: readonly (string | undefined)[]): AccessEvent[] =>
    times.flatMap((time, index) => (time === undefined ? [] : [{ id: `${type}-${index + 1}`, type, time }]));
  const denial = decisions.find(({ approve }) => !approve);
  return [
    ...events('requested', [first]),
    ...decisions.map((decision, index) => ({ id: `decided-${index + 1}`, type: 'decided' as const, time: decision.time, decision })),
    ...events('granted', [binding && given]),
    ...events('breakglass', [spec.breakGlass ? binding && first : undefined]),
    ...events('denied', [phase === 'Denied' ? ended : undefined]).map((event) => ({ ...event, ...(denial && { decision: denial }) })),
    ...events('ended', [finalPhases.includes(phase) ? ended : undefined]),
    ...events('reviewed', [review?.time]),
  ];
}

/** Age after which an event is no longer sent to receivers that are configured later. */
const maxAgeMs = 86_400_000;
const eventWithinMs = 10_000;

/** Time for all receivers of an event to answer. After it, the status names those that have answered. */
const togetherMs = 1_000;
/** Bound of `status.notices` in the definition. */
const maxNotices = 20;
const noNotices: readonly Notice[] = [];

/** Receiver of events: the mail of users, or a webhook. */
export interface Receiver {
  /** Name in the log and in metrics. */
  readonly name: string;
  /** Begin of the names of its entries in the status. Receivers with the same one share them. */
  readonly prefix: '' | 'mail-';
  /** Begins of the attempts, in milliseconds after the first one. */
  readonly attemptsAtMs: readonly number[];
  wants(event: AccessEvent, row: RequestRow): boolean;
  /** Makes one attempt. @throws NoticeError or another Error if the receiver has not taken the event */
  send(event: AccessEvent, row: RequestRow, delivery: DeliveredMails, signal: AbortSignal): Promise<void>;
}

/** Mails of an event, by the UIDs of their users. Another attempt leaves these users out. */
export interface DeliveredMails {
  /** Users who were counted for the limit of mails. */
  readonly counted: Set<string>;
  /** Users who have got the mail, or get a digest instead. */
  readonly taken: Set<string>;
  /** Users whose mail is refused for good. */
  readonly refused: Set<string>;
}

/** Failure whose message has no secret and no text of users. */
export class NoticeError extends Error {
  override readonly name = 'NoticeError';
  /** Bound of the attempts. Another attempt would fail, too. */
  readonly maxAttempts: number;

  constructor(message: string, maxAttempts = Number.POSITIVE_INFINITY) {
    super(message);
    this.maxAttempts = maxAttempts;
  }
}

/** Receiver with work of its own, apart from the events. */
export interface Digests {
  /** @param enqueue adds the record of a user who gets a digest later */
  onPostponed(enqueue: (record: string) => void): void;
  digest(record: string, signal: AbortSignal): Outcome;
}

/** State of an event at one receiver. */
interface Delivery extends DeliveredMails {
  readonly firstAt: number;
  attempts: number;
  nextAt: number;
  isTrying: boolean;
  outcome?: Notice['outcome'];
}

/** Name of the entry of one receiver, as long as others have not answered. The last release ignores such entries. */
const entryOf = (event: AccessEvent, receiver: Receiver): string => `${event.id}/${receiver.name}`;

const noticeKey = (name: string) => `notice/${name}`;
const digestKey = (record: string) => `digest/${record}`;

/** Term of the leader. Attempts run beside it, so that a slow receiver delays no request and no other receiver. */
export class NoticeTerm implements Term, Source {
  readonly sources = [this];
  readonly #context: AccessContext;
  readonly #receivers: readonly Receiver[];
  readonly #digests: Digests | undefined;
  /** Deliveries that are not in the status yet, by the names of the request, and of the event and its receiver. */
  readonly #deliveries = new Map<string, Map<string, Delivery>>();
  readonly #running = new Set<Promise<void>>();
  #enqueue: (key: string) => void = () => undefined;

  constructor(context: AccessContext, receivers: readonly Receiver[], digests: Digests | undefined) {
    this.#context = context;
    this.#receivers = receivers;
    this.#digests = digests;
  }

  owns(key: string): boolean {
    return /^(notice|digest)\//.test(key);
  }

  onChange(enqueue: (key: string) => void): () => void {
    this.#enqueue = enqueue;
    this.#digests?.onPostponed((record) => enqueue(digestKey(record)));
    return this.#context.requests.cache.onChange(({ key }) => enqueue(noticeKey(key)));
  }

  whenSynced(signal: AbortSignal): Promise<void> {
    return this.#context.requests.cache.whenSynced(signal);
  }

  *keys(): Iterable<string> {
    for (const { name } of this.#context.requests.cache.values()) yield noticeKey(name);
  }

  async reconcile(key: string, signal: AbortSignal): Promise<Outcome> {
    const [kind, name = ''] = key.split('/');
    if (kind === 'digest') return this.#digests?.digest(name, signal) ?? 'done';
    const row = this.#context.requests.cache.get(name);
    if (row !== undefined) return this.#tell(row, signal);
    this.#deliveries.delete(name);
    return 'done';
  }

  onFailure(key: string, error: unknown): void {
    this.#context.services.log.warn({ access: key, err: error }, 'notices of an access request could not be recorded');
  }

  async end(): Promise<void> {
    await Promise.all(this.#running);
  }

  async #tell(row: RequestRow, signal: AbortSignal): Promise<Outcome> {
    const now = this.#context.services.now().getTime();
    const before = this.#deliveries.get(row.name);
    const current = new Map<string, Delivery>();
    let notices: readonly Notice[] = row.told.notices ?? noNotices;
    const dueTimes: number[] = [];
    for (const { event, prefix, receivers } of this.#untold(row, now)) {
      const answers: Notice[] = [];
      let togetherUntil = now;
      for (const receiver of receivers) {
        const entry = entryOf(event, receiver);
        const delivery = before?.get(entry) ?? newDelivery(now, notices.find((notice) => notice.event === entry)?.outcome);
        current.set(entry, delivery);
        togetherUntil = delivery.firstAt + togetherMs;
        this.#attempt(delivery, receiver, { event, row }, signal);
        if (delivery.outcome !== undefined) answers.push({ event: entry, time: timestamp(new Date(now)), outcome: delivery.outcome });
        else if (!delivery.isTrying) dueTimes.push(delivery.nextAt);
      }
      if (answers.length === receivers.length) notices = withEvent(notices, { event, prefix, answers });
      else if (now < togetherUntil) dueTimes.push(togetherUntil);
      else notices = withAnswers(notices, answers);
    }
    if (current.size > 0) this.#deliveries.set(row.name, current);
    else this.#deliveries.delete(row.name);
    return this.#record(row, { notices, dueTimes }, signal);
  }

  /** Returns the events that the status does not have, with the receivers that share an entry there. */
  *#untold(row: RequestRow, now: number): Iterable<{ event: AccessEvent; prefix: string; receivers: readonly Receiver[] }> {
    const told = new Set(row.told.notices?.map(({ event }) => event));
    for (const event of eventsOf(row)) {
      if (now - Date.parse(event.time) > maxAgeMs) continue;
      for (const prefix of ['', 'mail-']) {
        const receivers = this.#receivers.filter((receiver) => receiver.prefix === prefix && receiver.wants(event, row));
        if (receivers.length > 0 && !told.has(`${prefix}${event.id}`)) yield { event, prefix, receivers };
      }
    }
  }

  #attempt(delivery: Delivery, receiver: Receiver, { event, row }: { event: AccessEvent; row: RequestRow }, signal: AbortSignal): void {
    const { log, metrics, now } = this.#context.services;
    if (delivery.isTrying || delivery.outcome !== undefined || now().getTime() < delivery.nextAt) return;
    delivery.isTrying = true;
    delivery.attempts += 1;
    const { name } = receiver;
    const trying = receiver
      .send(event, row, delivery, signal)
      .then(
        () => {
          delivery.outcome = 'Sent';
          noticeCounter(metrics).inc({ receiver: name, outcome: 'sent' });
        },
        (error: unknown) => {
          if (signal.aborted) return;
          const isFinal = error instanceof NoticeError && delivery.attempts >= error.maxAttempts;
          const next = isFinal ? undefined : receiver.attemptsAtMs[delivery.attempts];
          if (next === undefined) delivery.outcome = 'Failed';
          else delivery.nextAt = delivery.firstAt + next;
          noticeCounter(metrics).inc({ receiver: name, outcome: next === undefined ? 'failed' : 'retried' });
          log.warn(
            { accessRequest: row.name, event: event.id, receiver: name, why: whyOf(error) },
            'notice of an access request was not accepted',
          );
          if (next === undefined) return this.#reportFailure(receiver, { event, row }, whyOf(error));
        },
      )
      .finally(() => {
        delivery.isTrying = false;
        this.#running.delete(trying);
        this.#enqueue(noticeKey(row.name));
      });
    this.#running.add(trying);
  }

  /** Tells administrators by an Event that a receiver will not get a notice. */
  async #reportFailure({ name }: Receiver, { event, row }: { event: AccessEvent; row: RequestRow }, why: string): Promise<void> {
    const message = `${name} was not told of ${event.id}: ${why}`;
    const input = { type: 'Warning', reason: 'NoticeFailed', message, action: 'Notify' } as const;
    const object = { metadata: { name: row.name, uid: row.uid } };
    await report(this.#context.services, { kind: accessRequestKind, object }, input, AbortSignal.timeout(eventWithinMs));
  }

  /** Writes told events. A request that is being approved is left alone, so that its access is not delayed by a conflict. */
  async #record(
    row: RequestRow,
    { notices, dueTimes }: { notices: readonly Notice[]; dueTimes: readonly number[] },
    signal: AbortSignal,
  ): Promise<Outcome> {
    const outcome: Outcome = dueTimes.length === 0 ? 'done' : { requeueAt: Math.min(...dueTimes) };
    if (notices === (row.told.notices ?? noNotices) || row.phase === 'Approving') return outcome;
    const written = await transition(this.#context, row, { notices }, signal);
    return written === 'conflict' ? 'again' : outcome;
  }
}

const newDelivery = (now: number, outcome: Notice['outcome'] | undefined): Delivery => ({
  firstAt: now,
  attempts: 0,
  nextAt: now,
  isTrying: false,
  counted: new Set(),
  taken: new Set(),
  refused: new Set(),
  ...(outcome && { outcome }),
});

/** Adds an event that all its receivers have answered, in place of the entries of single receivers. */
function withEvent(
  notices: readonly Notice[],
  { event, prefix, answers }: { event: AccessEvent; prefix: string; answers: readonly Notice[] },
): readonly Notice[] {
  const [{ time }] = answers as [Notice];
  const outcome = answers.some((answer) => answer.outcome === 'Failed') ? 'Failed' : 'Sent';
  const others = notices.filter((notice) => !notice.event.startsWith(`${event.id}/`));
  return [...others, { event: `${prefix}${event.id}`, time, outcome }];
}

/** Adds the entries of receivers that have answered, if there is room for them. */
function withAnswers(notices: readonly Notice[], answers: readonly Notice[]): readonly Notice[] {
  const added = answers.filter((answer) => notices.every((notice) => notice.event !== answer.event));
  return added.length === 0 || notices.length + added.length > maxNotices ? notices : [...notices, ...added];
}

/** Returns a failure without the address of the receiver, which may have a secret in it. */
function whyOf(error: unknown): string {
  if (error instanceof NoticeError) return error.message;
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
  return error instanceof Error ? error.name : typeof error;
}

/** Returns one term of two. Without receivers there is only the first. */
export function withNotices(access: Term, notices: NoticeTerm | undefined): Term {
  if (notices === undefined) return access;
  const termOf = (key: string) => (notices.owns(key) ? notices : access);
  return {
    sources: [...access.sources, ...notices.sources],
    reconcile: (key, signal) => termOf(key).reconcile(key, signal),
    onFailure: (key, error) => termOf(key).onFailure(key, error),
    end: async () => {
      await Promise.all([access.end?.(), notices.end()]);
    },
  };
}

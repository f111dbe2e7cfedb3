import { Readable } from 'node:stream';
import { matcherOf } from '@atrium/audit-store/conditions.ts';
import type { AuditEvent } from '@atrium/audit-store/event.ts';
import type { AuditFilter, AuditPage, AuditPlace, AuditStore, StoreUsage } from '@atrium/audit-store/store.ts';
import { type Bearer, type Caller, callerKey } from '@atrium/http/caller.ts';
import { reportRefusals } from '@atrium/http/limits/reports.ts';
import { KeyedSemaphore } from '@atrium/http/limits/semaphore.ts';
import { visibilityChanged } from '@atrium/lists/live-list-answer.ts';
import type { RightCheck } from '@atrium/lists/while-allowed.ts';
import { forbidden, notFound, StatusError } from '@atrium/objects/status.ts';
import type { DeliveryState } from '../audit/audit-intake.ts';
import type { CheckpointState } from '../audit-chain/checkpoints.ts';
import type { OwnSince, Services } from '../services.ts';
import { Arrivals } from './arrivals.ts';
import { type Writer, writers } from './export.ts';
import type {
  AuditConditions,
  AuditCounts,
  AuditEventList,
  AuditParameters,
  AuditStatus,
  CountsParameters,
  ExportParameters,
} from './schema.ts';
import { StoreRoom } from './store-room.ts';
import { eventsOf, ownEvents, shownToObject, type UserTraces } from './user-events.ts';

/** State before an event was sent. */
const noState: DeliveryState = {
  ...{ isRequired: false, isTaken: false, storeFailure: undefined, spoolFailure: undefined, waiting: 0, lost: 0, lastLost: undefined },
};

/** Time for which a loss of events is told. */
const lossMs = 86_400_000;

const audits = { verb: 'list', group: 'auth.platform.io', resource: 'audits' };

/** Events in one question of an export. */
const exportPage = 500;

/** Bounds of the questions of one caller. */
const turns = { atOnce: 2, maxWaiting: 8, what: 'audit queries of this caller are waiting' };

export interface ActivityNeeds {
  /** Undefined for an installation that keeps no events. */
  store: AuditStore | undefined;
  /** Returns the state of the checkpoints. Undefined for an installation that keeps no events. */
  checkpointState: (() => CheckpointState) | undefined;
  /** Returns the email of a User record, undefined if it does not exist. */
  userOf(record: string): string | undefined;
  /** Returns what events of a user have, undefined if the User record does not exist. @throws StatusError 503 */
  tracesOf(record: string): UserTraces | undefined;
  /** Returns the name of the caller's own User record. */
  ownRecord(caller: Caller): string | undefined;
  ownSince: OwnSince;
}

interface Sources {
  store: AuditStore;
  arrivals: Arrivals;
  room: StoreRoom;
}

/** Answers questions about events, for callers who may list audits; for others about their own. */
export class ActivityService {
  readonly #access: Services['access'];
  readonly #log: Services['log'];
  readonly #now: Services['now'];
  readonly #turns = new KeyedSemaphore(turns);
  readonly #sources: Sources | undefined;
  readonly #needs: Omit<ActivityNeeds, 'store'>;
  readonly #intake: Services['auditIntake'];

  constructor({ access, auditIntake, clock, log, metrics, now }: Services, { store, ...needs }: ActivityNeeds) {
    this.#access = access;
    this.#log = log;
    this.#now = now;
    this.#needs = needs;
    this.#intake = auditIntake;
    this.#sources = store && { store, arrivals: new Arrivals(store, clock), room: new StoreRoom(store, { clock, log }) };
    reportRefusals(metrics, 'audit', this.#turns);
  }

  /** @throws StatusError 403, 404, 429, 503, 504 */
  async list({ limit, continue: place, ...conditions }: AuditParameters, caller: Caller, signal: AbortSignal): Promise<AuditEventList> {
    const { store, scope, filter, shown } = await this.#questionOf(conditions, caller, signal);
    const [time = 0, sequence = 0] = place?.split('.').map(Number) ?? [];
    const before = place === undefined ? undefined : { time, sequence };
    const { events, last, newest } = await this.#turns.run(callerKey(caller), () => store.list(filter, { limit, before }), signal);
    return {
      apiVersion: 'auth.platform.io/v1',
      kind: 'AuditEventList',
      metadata: {
        ...(newest !== undefined && { resourceVersion: String(newest) }),
        ...(last !== undefined && { continue: `${last.time}.${last.sequence}` }),
      },
      scope,
      items: events.map(shown),
    };
  }

  /**
   * Returns what a live list needs: the scope, a check that the caller still has it, and the events from a place on.
   *
   * @param after number of the event after which it begins; undefined to begin now
   * @throws StatusError 403, 404, 429, 503, 504
   */
  async follow(conditions: AuditConditions, after: string | undefined, caller: Caller, signal: AbortSignal) {
    const { store, arrivals, scope, filter, shown } = await this.#questionOf(conditions, caller, signal);
    const { newest = 0 } = await this.#turns.run(callerKey(caller), () => store.list({}, { limit: 1 }), signal);
    const right = rightFor(conditions);
    const check: RightCheck = async (bearer, during) => {
      const mayList = await this.#access.can(bearer, right, during);
      if (scope === 'All' && !mayList) throw forbidden({ ...right, user: caller.identity.name });
      if (scope === 'Own' && mayList) throw visibilityChanged();
    };
    const place = { after: after === undefined ? newest : Number(after), newest };
    const textUntil = (over: AbortSignal) => arrivals.follow({ ...place, matches: matcherOf(filter), shown, signal: over });
    return { scope, check, textUntil };
  }

  /** @throws StatusError 403, 404, 429, 503, 504 */
  async count({ by, ...conditions }: CountsParameters, caller: Caller, signal: AbortSignal): Promise<AuditCounts> {
    const { store, scope, filter } = await this.#questionOf(conditions, caller, signal);
    // The token of another user is hidden from the one whom the event is about.
    const isShown = (actor: string | undefined) => scope === 'All' || actor === caller.identity.name;
    const { counts, total, oldest } = await this.#turns.run(callerKey(caller), () => store.count(filter, by), signal);
    return {
      apiVersion: 'auth.platform.io/v1',
      kind: 'AuditCounts',
      scope,
      by,
      total,
      ...(oldest !== undefined && { oldest: timeText(oldest) }),
      items: counts.map(({ hour, withToken, ...others }) => ({
        ...(hour !== undefined && { hour: timeText(hour) }),
        ...others,
        ...(withToken !== undefined && isShown(others.actor) && { withToken }),
        ...(others.actor !== undefined && { kind: kindOf(others.actor) }),
      })),
    };
  }

  /** Returns the state of the events of this replica. @throws StatusError 403, 404, 503, 504 */
  async status(caller: Caller, signal: AbortSignal): Promise<AuditStatus> {
    const { room } = this.#kept();
    await this.#access.require(caller, audits, signal);
    // A store that takes no events would make the caller wait.
    return this.#statusWith(this.#intake?.failure() === undefined ? await room.read() : undefined);
  }

  /**
   * Reports whether the caller may list audits and has to know of their state: events are not kept, will be refused soon, or contradict the
   * checkpoints. No review is asked for while all is well, and no failure of one is reported.
   */
  async isAlerted(caller: Bearer, signal: AbortSignal): Promise<boolean> {
    if (this.#sources === undefined) return false;
    const { store, spool, lastLost, usage, checkpoints } = this.#statusWith(this.#sources.room.last());
    const isNearlyFull = usage?.isNearlyFull === true && usage.whenFull === 'refuse';
    const isKept = store !== 'Unavailable' && spool === 'Available' && lastLost === undefined && !isNearlyFull;
    if (isKept && checkpoints?.state !== 'Refused') return false;
    try {
      return await this.#access.can(caller, audits, signal);
    } catch {
      signal.throwIfAborted();
      return false;
    }
  }

  /** @param room as it was last read */
  #statusWith(room: StoreUsage | undefined): AuditStatus {
    const { isRequired, isTaken, storeFailure, spoolFailure, waiting, lost, lastLost } = this.#intake?.state() ?? noState;
    const reason = storeFailure ?? spoolFailure;
    const usage = storeFailure === undefined ? room : undefined;
    const isLossTold = lastLost !== undefined && this.#now().getTime() - lastLost.getTime() <= lossMs;
    return {
      apiVersion: 'auth.platform.io/v1',
      kind: 'AuditStatus',
      delivery: isRequired ? 'required' : 'besteffort',
      store: storeFailure !== undefined ? 'Unavailable' : isTaken ? 'Available' : 'Unknown',
      spool: spoolFailure === undefined ? 'Available' : 'Unavailable',
      ...(reason !== undefined && { reason }),
      waiting,
      lost,
      ...(isLossTold && { lastLost: lastLost.toISOString() }),
      ...(usage && { usage }),
      checkpoints: shownState(this.#needs.checkpointState?.()),
    };
  }

  /** Returns an event that the caller may see. @throws StatusError 404, 429, 503, 504 */
  async get(id: string, caller: Caller, signal: AbortSignal): Promise<{ scope: AuditEventList['scope']; event: AuditEvent }> {
    const { store } = this.#kept();
    const find = async (filter: AuditFilter) =>
      (await this.#turns.run(callerKey(caller), () => store.list({ ...filter, auditID: id }, { limit: 1 }), signal)).events[0];
    const own = await find({ anyOf: ownEvents(caller), from: this.#needs.ownSince(caller) });
    const event = own ?? (await find({}));
    if (event === undefined) throw notFound(audits, id);
    const { namespace } = event.objectRef;
    const mayList = await this.#access.can(caller, { ...audits, ...(namespace !== undefined && { namespace }) }, signal);
    if (mayList) return { scope: own === undefined ? 'All' : 'Own', event: this.#withUser(event) };
    if (own === undefined) throw notFound(audits, id);
    return { scope: 'Own', event: this.#withUser(shownToObject(own, caller)) };
  }

  /**
   * Returns events as a file, newest first. A page of them is read when the caller has taken the one before.
   *
   * @throws StatusError 403, 404, 429, 503, 504
   */
  async export({ format, limit = Number.POSITIVE_INFINITY, ...conditions }: ExportParameters, caller: Caller, signal: AbortSignal) {
    const { store, scope, filter, shown } = await this.#questionOf(conditions, caller, signal);
    const writer = { ...writers[format], line: (event: AuditEvent) => writers[format].line(shown(event)) };
    const pageFrom = (before: AuditPlace | undefined, left: number) =>
      this.#turns.run(callerKey(caller), () => store.list(filter, { limit: Math.min(exportPage, left), before }), signal);
    const lines = Readable.from(linesOf(writer, await pageFrom(undefined, limit), { pageFrom, limit }), { objectMode: false });
    lines.on('error', (error) => this.#log.warn({ err: error }, 'export of the audit has ended early'));
    return { lines, scope, mediaType: writer.mediaType };
  }

  /** @throws StatusError 404 */
  #kept(): Sources {
    if (this.#sources === undefined) throw new StatusError(404, 'NotFound', 'this installation keeps no audit events');
    return this.#sources;
  }

  /** Returns the store, and the conditions for events that the caller may see. */
  async #questionOf(conditions: AuditConditions, caller: Caller, signal: AbortSignal) {
    const sources = this.#kept();
    const scope = await this.#scopeOf(conditions, caller, signal);
    const { group, request, from, to, user, ...equal } = conditions;
    const traces = user === undefined || scope === 'Own' ? undefined : this.#needs.tracesOf(user);
    const begins = [from && Date.parse(from), scope === 'Own' ? this.#needs.ownSince(caller) : undefined, traces?.since];
    const filter: AuditFilter = {
      ...equal,
      apiGroup: group,
      requestID: request,
      from: latest(begins),
      to: to === undefined ? undefined : Date.parse(to),
      ...(user !== undefined && { anyOf: eventsOf(user, traces) }),
      ...(scope === 'Own' && { anyOf: asksForHidden(conditions) ? [{ actor: caller.identity.name }] : ownEvents(caller) }),
    };
    const shown = (event: AuditEvent) => this.#withUser(scope === 'Own' ? shownToObject(event, caller) : event);
    return { ...sources, scope, filter, shown };
  }

  #withUser(event: AuditEvent): AuditEvent {
    const { apiGroup, resource, name } = event.objectRef;
    const objectUser = apiGroup === audits.group && resource === 'users' && name !== undefined ? this.#needs.userOf(name) : undefined;
    return objectUser === undefined ? event : { ...event, objectUser };
  }

  /** @throws StatusError 403 for a question about another user */
  async #scopeOf(conditions: AuditConditions, caller: Caller, signal: AbortSignal): Promise<AuditEventList['scope']> {
    const { actor = caller.identity.name, user } = conditions;
    const asked = rightFor(conditions);
    if (await this.#access.can(caller, asked, signal)) return 'All';
    const isOwn = actor === caller.identity.name && (user === undefined || user === this.#needs.ownRecord(caller));
    if (!isOwn) throw forbidden({ ...asked, user: caller.identity.name });
    return 'Own';
  }
}

/** Returns the latest of the times that are given. */
function latest(times: readonly (number | '' | undefined)[]): number | undefined {
  const given = times.filter((time) => typeof time === 'number');
  return given.length === 0 ? undefined : Math.max(...given);
}

/** Returns the right to see the events of all users. */
const rightFor = ({ namespace }: AuditConditions) => ({ ...audits, ...(namespace !== undefined && { namespace }) });

/** Returns the kind of an actor. Names that begin with `system:` are reserved to Kubernetes. */
function kindOf(actor: string): AuditCounts['items'][number]['kind'] {
  if (actor === '') return 'Service';
  if (actor.startsWith('system:serviceaccount:')) return 'ServiceAccount';
  return actor.startsWith('system:') ? 'System' : 'User';
}

const timeText = (time: number): string => new Date(time).toISOString();

/** Reports whether a question asks for a member that users see at their own events alone: its answer would tell the member. */
const asksForHidden = ({ session, request, accessToken, actorGroup }: AuditConditions): boolean =>
  [session, request, accessToken, actorGroup].some((value) => value !== undefined);

const shownState = ({ state, reason, newest, eventsAfter }: Partial<CheckpointState> = {}): NonNullable<AuditStatus['checkpoints']> => ({
  state: state ?? 'Unknown',
  ...(reason !== undefined && { reason }),
  ...(newest && { newest: { sequence: newest.sequence, signedAt: newest.time } }),
  ...(eventsAfter !== undefined && { eventsAfter }),
});

interface Pages {
  pageFrom(before: AuditPlace | undefined, left: number): Promise<AuditPage>;
  limit: number;
}

async function* linesOf({ head, line }: Writer, first: AuditPage, { pageFrom, limit }: Pages): AsyncGenerator<string> {
  yield head;
  let left = limit;
  for (let page = first; ; page = await pageFrom(page.last, left)) {
    yield page.events.map(line).join('');
    left -= page.events.length;
    if (page.last === undefined || left <= 0) return;
  }
}

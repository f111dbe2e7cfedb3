import { Readable } from 'node:stream';
import type { AuditEvent } from '@atrium/audit-store/event.ts';
import type { AuditFilter, AuditPage, AuditPlace, AuditStore } from '@atrium/audit-store/store.ts';
import { type Caller, callerKey } from '@atrium/http/caller.ts';
import { reportRefusals } from '@atrium/http/limits/reports.ts';
import { KeyedSemaphore } from '@atrium/http/limits/semaphore.ts';
import { forbidden, notFound, StatusError } from '@atrium/objects/status.ts';
import type { Services } from '../services.ts';
import { type Writer, writers } from './export.ts';
import type { AuditConditions, AuditCounts, AuditEventList, AuditParameters, CountsParameters, ExportParameters } from './schema.ts';

const audits = { verb: 'list', group: 'auth.platform.io', resource: 'audits' };

/** Events in one question of an export. */
const exportPage = 500;

/** Bounds of the questions of one caller. */
const turns = { atOnce: 2, maxWaiting: 8, what: 'audit queries of this caller are waiting' };

/** Answers questions about events, for callers who may list audits; for others about their own. */
export class ActivityService {
  readonly #access: Services['access'];
  readonly #log: Services['log'];
  readonly #store: AuditStore | undefined;
  readonly #turns = new KeyedSemaphore(turns);

  constructor({ access, log, metrics }: Services, store: AuditStore | undefined) {
    this.#access = access;
    this.#log = log;
    this.#store = store;
    reportRefusals(metrics, 'audit', this.#turns);
  }

  /** @throws StatusError 403, 404, 429, 503, 504 */
  async list({ limit, continue: place, ...conditions }: AuditParameters, caller: Caller, signal: AbortSignal): Promise<AuditEventList> {
    const { store, scope, filter } = await this.#questionOf(conditions, caller, signal);
    const [time = 0, sequence = 0] = place?.split('.').map(Number) ?? [];
    const before = place === undefined ? undefined : { time, sequence };
    const { events, last } = await this.#turns.run(callerKey(caller), () => store.list(filter, { limit, before }), signal);
    return {
      apiVersion: 'auth.platform.io/v1',
      kind: 'AuditEventList',
      metadata: last === undefined ? {} : { continue: `${last.time}.${last.sequence}` },
      scope,
      items: events,
    };
  }

  /** @throws StatusError 403, 404, 429, 503, 504 */
  async count({ by, ...conditions }: CountsParameters, caller: Caller, signal: AbortSignal): Promise<AuditCounts> {
    const { store, scope, filter } = await this.#questionOf(conditions, caller, signal);
    const { counts, total, oldest } = await this.#turns.run(callerKey(caller), () => store.count(filter, by), signal);
    return {
      apiVersion: 'auth.platform.io/v1',
      kind: 'AuditCounts',
      scope,
      by,
      total,
      ...(oldest !== undefined && { oldest: timeText(oldest) }),
      items: counts.map(({ hour, ...others }) => ({ ...(hour !== undefined && { hour: timeText(hour) }), ...others })),
    };
  }

  /** Returns an event that the caller may see. @throws StatusError 404, 429, 503, 504 */
  async get(id: string, caller: Caller, signal: AbortSignal): Promise<AuditEvent> {
    const store = this.#kept();
    const { events } = await this.#turns.run(callerKey(caller), () => store.list({ auditID: id }, { limit: 1 }), signal);
    const [event] = events;
    if (event === undefined || !(await this.#maySee(event, caller, signal))) throw notFound(audits, id);
    return event;
  }

  async #maySee({ user, objectRef: { namespace } }: AuditEvent, caller: Caller, signal: AbortSignal): Promise<boolean> {
    if (user?.username === caller.identity.name) return true;
    return await this.#access.can(caller, { ...audits, ...(namespace !== undefined && { namespace }) }, signal);
  }

  /**
   * Returns events as a file, newest first. A page of them is read when the caller has taken the one before.
   *
   * @throws StatusError 403, 404, 429, 503, 504
   */
  async export({ format, limit = Number.POSITIVE_INFINITY, ...conditions }: ExportParameters, caller: Caller, signal: AbortSignal) {
    const { store, scope, filter } = await this.#questionOf(conditions, caller, signal);
    const pageFrom = (before: AuditPlace | undefined, left: number) =>
      this.#turns.run(callerKey(caller), () => store.list(filter, { limit: Math.min(exportPage, left), before }), signal);
    const lines = Readable.from(linesOf(writers[format], await pageFrom(undefined, limit), { pageFrom, limit }), { objectMode: false });
    lines.on('error', (error) => this.#log.warn({ err: error }, 'export of the audit has ended early'));
    return { lines, scope, mediaType: writers[format].mediaType };
  }

  /** @throws StatusError 404 */
  #kept(): AuditStore {
    if (this.#store === undefined) throw new StatusError(404, 'NotFound', 'this installation keeps no audit events');
    return this.#store;
  }

  /** Returns the store, and the conditions for events that the caller may see. */
  async #questionOf(conditions: AuditConditions, caller: Caller, signal: AbortSignal) {
    const store = this.#kept();
    const scope = await this.#scopeOf(conditions, caller, signal);
    const { group, request, from, to, ...equal } = conditions;
    const filter: AuditFilter = {
      ...equal,
      apiGroup: group,
      requestID: request,
      from: from === undefined ? undefined : Date.parse(from),
      to: to === undefined ? undefined : Date.parse(to),
      ...(scope === 'Own' && { actor: caller.identity.name }),
    };
    return { store, scope, filter };
  }

  /** @throws StatusError 403 for a question about another user */
  async #scopeOf({ namespace, actor }: AuditConditions, caller: Caller, signal: AbortSignal): Promise<AuditEventList['scope']> {
    const asked = { ...audits, ...(namespace !== undefined && { namespace }) };
    if (await this.#access.can(caller, asked, signal)) return 'All';
    if (actor !== undefined && actor !== caller.identity.name) throw forbidden({ ...asked, user: caller.identity.name });
    return 'Own';
  }
}

const timeText = (time: number): string => new Date(time).toISOString();

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

import type { AuditFilter, AuditStore } from '@atrium/audit-store/store.ts';
import { type Caller, callerKey } from '@atrium/http/caller.ts';
import { reportRefusals } from '@atrium/http/limits/reports.ts';
import { KeyedSemaphore } from '@atrium/http/limits/semaphore.ts';
import { forbidden, StatusError } from '@atrium/objects/status.ts';
import type { Services } from '../services.ts';
import type { AuditConditions, AuditCounts, AuditEventList, AuditParameters, CountsParameters } from './schema.ts';

const audits = { verb: 'list', group: 'auth.platform.io', resource: 'audits' };

/** Bounds of the questions of one caller. */
const turns = { atOnce: 2, maxWaiting: 8, what: 'audit queries of this caller are waiting' };

/** Answers questions about events, for callers who may list audits; for others about their own. */
export class ActivityService {
  readonly #access: Services['access'];
  readonly #store: AuditStore | undefined;
  readonly #turns = new KeyedSemaphore(turns);

  constructor({ access, metrics }: Services, store: AuditStore | undefined) {
    this.#access = access;
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

  /** Returns the store, and the conditions for events that the caller may see. */
  async #questionOf(conditions: AuditConditions, caller: Caller, signal: AbortSignal) {
    const store = this.#store;
    if (store === undefined) throw new StatusError(404, 'NotFound', 'this installation keeps no audit events');
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

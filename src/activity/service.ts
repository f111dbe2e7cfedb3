import type { AuditStore } from '@atrium/audit-store/store.ts';
import { type Caller, callerKey } from '@atrium/http/caller.ts';
import { reportRefusals } from '@atrium/http/limits/reports.ts';
import { KeyedSemaphore } from '@atrium/http/limits/semaphore.ts';
import { forbidden, StatusError } from '@atrium/objects/status.ts';
import type { Services } from '../services.ts';
import type { AuditEventList, AuditParameters } from './schema.ts';

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
  async list(parameters: AuditParameters, caller: Caller, signal: AbortSignal): Promise<AuditEventList> {
    const store = this.#store;
    if (store === undefined) throw new StatusError(404, 'NotFound', 'this installation keeps no audit events');
    const scope = await this.#scopeOf(parameters, caller, signal);
    const { group, request, from, to, limit, continue: place, ...equal } = parameters;
    const filter = {
      ...equal,
      apiGroup: group,
      requestID: request,
      from: from === undefined ? undefined : Date.parse(from),
      to: to === undefined ? undefined : Date.parse(to),
      ...(scope === 'Own' && { actor: caller.identity.name }),
    };
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

  /** @throws StatusError 403 for a question about another user */
  async #scopeOf({ namespace, actor }: AuditParameters, caller: Caller, signal: AbortSignal): Promise<AuditEventList['scope']> {
    const asked = { ...audits, ...(namespace !== undefined && { namespace }) };
    if (await this.#access.can(caller, asked, signal)) return 'All';
    if (actor !== undefined && actor !== caller.identity.name) throw forbidden({ ...asked, user: caller.identity.name });
    return 'Own';
  }
}

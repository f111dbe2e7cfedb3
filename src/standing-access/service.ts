import type { AuditStore } from '@atrium/audit-store/store.ts';
import { callerKey } from '@atrium/http/caller.ts';
import { reportRefusals } from '@atrium/http/limits/reports.ts';
import { KeyedSemaphore } from '@atrium/http/limits/semaphore.ts';
import { describedBinding, describedSubject } from '@atrium/kubernetes/rbac/grants.ts';
import { StatusError } from '@atrium/objects/status.ts';
import { z } from 'zod';
import { type Asking, type ExplorerContext, mayKnowGroups, requireBindings } from '../explorer/rights.ts';
import { type Standing, standingBindings } from './bindings.ts';
import { findingsOf } from './findings.ts';
import { type Holders, holdersOf, membersOf } from './people.ts';
import type { StandingItem, StandingList, StandingQuery, StandingUse } from './schema.ts';
import { Uses, unknown } from './uses.ts';

const audits = { verb: 'list', group: 'auth.platform.io', resource: 'audits' };

const dayMs = 86_400_000;
const maxSubjects = 100;

/** Bounds of one caller, because an answer may need every binding of the cluster and some hundred questions to the store. */
const turns = { atOnce: 1, maxWaiting: 4, what: 'questions about standing access of this caller are waiting' };

/** Tells which bindings hold for good, and when each was last used. */
export class StandingAccess {
  readonly #context: ExplorerContext;
  readonly #store: AuditStore | undefined;
  readonly #turns = new KeyedSemaphore(turns);

  /** @param store undefined for an installation that keeps no events */
  constructor(context: ExplorerContext, store: AuditStore | undefined) {
    this.#context = context;
    this.#store = store;
    reportRefusals(context.services.metrics, 'standingaccess', this.#turns);
  }

  /** @throws StatusError 403, 429, 503, 504 */
  async list(query: StandingQuery, asking: Asking): Promise<StandingList> {
    const { services } = this.#context;
    const { namespace } = query;
    const hasClusterWide = (await requireBindings(services, namespace, asking)) && namespace === undefined;
    await services.access.require(asking.caller, { ...audits, ...(namespace !== undefined && { namespace }) }, asking.signal);
    const knowsGroups = await mayKnowGroups(this.#context, asking);
    services.rbac.requireRecent();
    return await this.#turns.run(
      callerKey(asking.caller),
      async () => {
        const all = await standingBindings(this.#context, query, hasClusterWide, asking);
        const start = (query.page - 1) * query.limit;
        const part = all.slice(start, start + query.limit);
        const from = services.now().getTime() - query.days * dayMs;
        const { items, auditedSince, hasDirect } = await this.#items(part, { from, namespace, knowsGroups, asking });
        return {
          apiVersion: 'auth.platform.io/v1',
          kind: 'StandingAccessList',
          metadata: {},
          complete: hasClusterWide,
          notes: [
            ...(hasClusterWide || namespace !== undefined ? [] : ['ClusterWideHidden' as const]),
            ...(knowsGroups ? [] : ['MembersHidden' as const]),
          ],
          from: timeText(from),
          ...(auditedSince !== undefined && { auditedSince: timeText(auditedSince) }),
          directRequests: hasDirect ? 'Seen' : 'NotSeen',
          total: all.length,
          items,
        };
      },
      asking.signal,
    );
  }

  async #items(part: readonly Standing[], { from, namespace, knowsGroups, asking }: Period) {
    const members = await membersOf(
      this.#context,
      part.map(({ binding }) => binding),
      knowsGroups,
    );
    const holders = part.map(({ binding }) => holdersOf(binding, members));
    const { uses, auditedSince, hasDirect } = await this.#uses(part, holders, { from, namespace, asking });
    const items = part.map((standing, index) => {
      const [{ people } = { people: [] }, use = unknown('NoAudit')] = [holders[index], uses[index]];
      return itemOf(standing, people.length, use);
    });
    return { items, auditedSince, hasDirect };
  }

  /** Returns the use of each binding. A store that does not answer makes each unknown, and the list is shown all the same. */
  async #uses(
    part: readonly Standing[],
    holders: readonly Holders[],
    { from, namespace, asking: { signal } }: Omit<Period, 'knowsGroups'>,
  ): Promise<{ uses: StandingUse[]; auditedSince?: number | undefined; hasDirect?: boolean }> {
    const store = this.#store;
    if (store === undefined) return { uses: part.map(() => unknown('NoAudit')) };
    const { accounts } = this.#context.users;
    try {
      const auditedSince = await firstTime(store);
      const direct = await store.list({ source: 'kube-apiserver', from }, { limit: 1 });
      const hasDirect = direct.events.length > 0;
      const uses = new Uses({
        ...{ store, from, namespace, signal, hasDirect, serviceNamespace: this.#context.services.namespace },
        hasPolicy: this.#context.services.config.audit.policy !== undefined,
        recordOf: (user) => accounts.ofSubject(user)?.name,
      });
      const found: StandingUse[] = [];
      for (const [index, standing] of part.entries())
        found.push(await uses.of(standing, holders[index] ?? { people: [], isComplete: false }, auditedSince));
      return { uses: found, auditedSince, hasDirect };
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof StatusError) || error.status.code < 500) throw error;
      return { uses: part.map(() => unknown('AuditNotAvailable')) };
    }
  }
}

interface Period {
  from: number;
  namespace: string | undefined;
  knowsGroups: boolean;
  asking: Asking;
}

const timed = z.looseObject({ requestReceivedTimestamp: z.string() });

/** Returns the time of the first event that the store has; undefined without events. */
async function firstTime(store: AuditStore): Promise<number | undefined> {
  const { events } = await store.chain(0, 1);
  const { data } = timed.safeParse(events[0]?.event);
  return data && Date.parse(data.requestReceivedTimestamp);
}

const timeText = (time: number): string => new Date(time).toISOString();

const itemOf = ({ binding, severity, risk }: Standing, people: number, use: StandingUse): StandingItem => ({
  severity,
  findings: findingsOf(risk, people, use),
  ...describedBinding(binding),
  ...(binding.creationTimestamp !== undefined && { creationTimestamp: binding.creationTimestamp }),
  subjects: binding.subjects.slice(0, maxSubjects).map(describedSubject),
  people,
  use,
});

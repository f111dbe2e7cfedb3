import type { Context } from 'koa';
import type { Logger } from 'pino';
import { mapLimit } from '../api/map-limit.ts';
import { type Audit, auditOrigin } from '../http/audit.ts';
import type { IssuerRevocation } from './issuer-revocation.ts';
import { type SessionRow, whoseSession } from './record.ts';
import type { SessionStore } from './store.ts';

const deletionsAtOnce = 10;
/** Beyond the bound there is one, unless the bound was lowered; the next login ends further ones. */
const maxEnded = 100;

export interface SessionBoundOptions {
  store: SessionStore;
  revocation: Pick<IssuerRevocation, 'revoke'>;
  /** `login.session.maxPerUser` */
  maxPerUser: number;
  audit: Audit;
  log: Logger;
}

/**
 * Keeps the number of sessions of a user within a bound: a new one ends the oldest, as a logout does.
 *
 * It counts when the watch has told of the new session, and so of each that was made before it, on whatever replica. Of several at the
 * same time the last one sees all. All go by the same order, the new session among the others: so each of them ends only what the last
 * one would, and the newest stay.
 */
export class SessionBound {
  readonly #options: SessionBoundOptions;

  constructor(options: SessionBoundOptions) {
    this.#options = options;
  }

  /** Never throws: a login counts even if an older one cannot be ended. */
  async keep(ctx: Context, newest: SessionRow, signal: AbortSignal): Promise<void> {
    const { store, revocation, audit, log } = this.#options;
    try {
      await store.whenTold(() => store.cache.get(newest.name) !== undefined, signal);
      const ended: SessionRow[] = [];
      await mapLimit(deletionsAtOnce, this.#beyond(newest), async (row) => {
        if (await store.remove(row, signal)) ended.push(row);
      });
      for (const row of ended)
        audit.record({ ...auditOrigin(ctx), ...whoseSession(row), audit: 'LoggedOut', outcome: 'success', reason: 'TooManySessions' });
      await revocation.revoke(ctx, ended);
    } catch (error) {
      log.warn({ user: newest.user, err: error }, 'the oldest sessions of a user with too many could not be ended');
    }
  }

  #beyond(newest: SessionRow): SessionRow[] {
    const { store, maxPerUser } = this.#options;
    const all = [...store.values()].filter((row) => isOfSame(row, newest) && store.get(row.name) !== undefined);
    const surplus = Math.max(0, all.length - maxPerUser);
    return all.sort(byAge).slice(0, Math.min(surplus, maxEnded));
  }
}

/** By the record, or, where there is none, by the name that Kubernetes sees. */
const isOfSame = (row: SessionRow, { user, userUID, subjectName }: SessionRow): boolean =>
  row.userUID === userUID && (userUID === undefined ? row.subjectName === subjectName : row.user === user);

/** Times are in whole seconds; of one second, in any order that is the same on every replica. */
const byAge = (left: SessionRow, right: SessionRow): number => left.createdAt - right.createdAt || (left.name < right.name ? -1 : 1);

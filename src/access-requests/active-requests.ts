import type { WatchCache } from '@atrium/kubernetes/watch/watch-cache.ts';
import type { RequestRow } from './request.ts';

/** Requests in an event. */
const maxNamed = 4;

/** Returns the user who has the access of a request, undefined if it gives none. */
const userOf = (row: RequestRow | undefined): string | undefined => (row?.phase === 'Active' ? row.spec?.requester : undefined);

const covers = ({ spec }: RequestRow, namespace: string): boolean =>
  spec?.scope === 'platform' || spec?.namespaces?.includes(namespace) === true;

/** Requests that give access now, by the name of their user in Kubernetes: each request at the door looks up those of its caller. */
export class ActiveRequests {
  readonly #ofUser = new Map<string, Map<string, RequestRow>>();

  constructor(cache: Pick<WatchCache<RequestRow>, 'onChange'>) {
    cache.onChange(({ key, old, new: current }) => {
      const [before, user] = [userOf(old), userOf(current)];
      if (before !== undefined) this.#remove(before, key);
      if (current !== undefined && user !== undefined) this.#add(user, key, current);
    });
  }

  /** Returns the policies by which a user has access now. */
  policiesOf(user: string): string[] {
    return [...this.#of(user)].flatMap(({ spec }) => spec?.policy.name ?? []);
  }

  /** Returns the first requests by which a user has access to a namespace now. @param namespace '' for the cluster */
  namesFor(user: string, namespace: string): string[] {
    const names: string[] = [];
    for (const row of this.#of(user)) {
      if (covers(row, namespace)) names.push(row.name);
      if (names.length === maxNamed) break;
    }
    return names;
  }

  #of(user: string): Iterable<RequestRow> {
    return this.#ofUser.get(user)?.values() ?? [];
  }

  #add(user: string, key: string, row: RequestRow): void {
    const rows = this.#ofUser.get(user) ?? new Map();
    this.#ofUser.set(user, rows.set(key, row));
  }

  #remove(user: string, key: string): void {
    const rows = this.#ofUser.get(user);
    rows?.delete(key);
    if (rows?.size === 0) this.#ofUser.delete(user);
  }
}

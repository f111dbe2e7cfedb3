import type { Source } from '@atrium/kubernetes/controllers/controller.ts';
import type { Change } from '@atrium/kubernetes/watch/watch-cache.ts';
import type { UserBindingRow } from '../bindings/row.ts';
import type { AccountLookup } from '../users/record/lookup.ts';
import type { AccessContext } from './context.ts';
import { isOpen, type RequestRow } from './request.ts';

interface Members {
  readonly members: readonly string[];
}

/** The watched Groups. */
interface Followed {
  onChange(listener: (change: { old?: Members; new?: Members }) => void): () => unknown;
  whenSynced(signal: AbortSignal, options: { orNotInstalled: true }): Promise<void>;
}

/** Watched objects besides those of the context. */
export interface AccessSources {
  readonly accounts: AccountLookup;
  /** Undefined where groups are disabled. */
  readonly groups: Followed | undefined;
}

/** Names of requests that may have to be reconciled: they changed, or their policy, user, role or UserBinding did. */
export class RequestChanges implements Source {
  readonly #context: AccessContext;
  readonly #sources: AccessSources;

  constructor(context: AccessContext, sources: AccessSources) {
    this.#context = context;
    this.#sources = sources;
  }

  onChange(enqueue: (name: string) => void): () => void {
    const { policies, requests, bindings, services } = this.#context;
    const { accounts, groups } = this.#sources;
    const enqueueOpen = (isAffected: (row: RequestRow) => boolean) => {
      for (const row of requests.cache.values()) if (isOpen(row) && isAffected(row)) enqueue(row.name);
    };
    const forget = [
      requests.cache.onChange(({ key }) => enqueue(key)),
      policies.cache.onChange(({ key }) => enqueueOpen((row) => row.spec?.policy.name === key)),
      bindings.onChange((change) => {
        const name = requestOf(change);
        if (name !== undefined) enqueue(name);
      }),
      accounts.onChange((name) => enqueueOpen((row) => row.spec?.record === name)),
      groups?.onChange((change) => {
        const changed = changedMembers(change);
        if (changed.size > 0) enqueueOpen((row) => changed.has(row.spec?.record ?? ''));
      }),
      services.rbac.onClusterRoleChange((name) => enqueueOpen((row) => row.spec?.roleRef === name)),
    ];
    return () => {
      for (const end of forget) end?.();
    };
  }

  async whenSynced(signal: AbortSignal): Promise<void> {
    const { policies, requests, bindings, services } = this.#context;
    const { accounts, groups } = this.#sources;
    await Promise.all([policies.cache, requests.cache, bindings, accounts.watch].map((followed) => followed.whenSynced(signal)));
    await groups?.whenSynced(signal, { orNotInstalled: true });
    // A role that is not listed yet would look deleted.
    await services.rbac.whenSynced(signal);
  }

  *keys(): Iterable<string> {
    for (const { name } of this.#context.requests.cache.values()) yield name;
  }
}

const requestOf = ({ old, new: current }: Change<UserBindingRow>): string | undefined => (current ?? old)?.request?.name;

/** Returns the users who joined or left. Writes of the status change no member. */
function changedMembers({ old, new: current }: { old?: Members; new?: Members }): ReadonlySet<string> {
  const [before, after] = [new Set(old?.members), new Set(current?.members)];
  return new Set([...before, ...after].filter((name) => before.has(name) !== after.has(name)));
}

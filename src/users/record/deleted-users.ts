import type { Source } from '@atrium/kubernetes/controllers/controller.ts';
import { LRUCache } from 'lru-cache';
import type { Services } from '../../services.ts';
import type { EndUserAccess } from '../ended-access.ts';
import type { Account } from './account.ts';
import { localSubjectName, type SubjectNaming, subjectNamesOf } from './subject-name.ts';

/** Time for which a replica remembers deleted records. A new leader ends the tokens that the former one may have missed. */
const rememberedMs = 120_000;
const maxRemembered = 10_000;

/** Prefix of the keys. Names of records never have it. */
const prefix = 'deleted:';

/**
 * Ends the tokens of users whose records were deleted without the API, with kubectl or by another program. Every replica remembers the
 * deleted records that it saw, and the leader of the user controller revokes their tokens. Keys are not names of records.
 */
export class DeletedUsers implements Source {
  readonly #services: Services;
  readonly #naming: SubjectNaming;
  readonly #endAccess: EndUserAccess;
  readonly #gone = new LRUCache<string, { account: Account; at: Date }>({ max: maxRemembered, ttl: rememberedMs });
  #enqueue: (key: string) => void = () => undefined;

  constructor(services: Services, naming: SubjectNaming, endAccess: EndUserAccess) {
    this.#services = services;
    this.#endAccess = endAccess;
    this.#naming = naming;
  }

  /** Remembers a deleted record, even if another one has replaced it at once. */
  see(account: Account): void {
    // Records that are not canonical are no users.
    if (!account.isCanonical) return;
    const key = prefix + account.uid;
    this.#gone.set(key, { account, at: this.#services.now() });
    this.#enqueue(key);
  }

  onChange(enqueue: (key: string) => void): () => void {
    this.#enqueue = enqueue;
    return () => {
      this.#enqueue = () => undefined;
    };
  }

  async whenSynced(): Promise<void> {}

  keys(): Iterable<string> {
    return [...this.#gone.keys()];
  }

  /** Reports whether the key is that of a deleted user. */
  isKey(key: string): boolean {
    return key.startsWith(prefix);
  }

  /** Ends access as of the moment when the deletion was seen. A later user of the name keeps newer tokens, even if this runs late. */
  async reconcile(key: string, signal: AbortSignal): Promise<'done'> {
    const { account, at: now } = this.#gone.get(key) ?? {};
    if (account === undefined || now === undefined) return 'done';
    const local = account.connectorType === 'local' ? localSubjectName(account, this.#naming) : undefined;
    const subjectNames = subjectNamesOf({ ...account, subjectName: account.subjectName || (local ?? '') });
    for (const subjectName of subjectNames)
      await this.#endAccess({ subject: { subjectName, record: account, now }, once: true }, 'UserDeleted', signal);
    this.#gone.delete(key);
    return 'done';
  }
}

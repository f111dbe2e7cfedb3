import type { Change, WatchCache } from '@atrium/kubernetes/watch/watch-cache.ts';
import { type Account, hasAddress, recordName, type Subject } from './account.ts';
import { type CallerNames, isSelf } from './subject-name.ts';

/** Account before and after a change. */
export interface AccountChange {
  readonly old: Account | undefined;
  readonly new: Account | undefined;
}

/** Looks up User records, as far as this replica has seen the cluster. */
export interface AccountLookup {
  /** Returns the account by the name of its record. */
  get(name: string): Account | undefined;
  /** Returns all accounts. There may be many: work on them ends slices. */
  values(): Iterable<Account>;
  /** Returns the account by login string in any case, if the whole email of the record matches. */
  find(login: string): Account | undefined;
  /**
   * Returns the account by any user name that Kubernetes sees. Names of accounts that name a user take precedence over those of linked
   * accounts.
   */
  ofSubject(subjectName: string): Account | undefined;
  /** Finds the account of a login by issuer and `sub`, whatever its address. Uses the login string only if no record has them. */
  ofLogin(subject: Subject | undefined, login: string | undefined): Account | undefined;
  /** Returns the account that has linked the subject. */
  ofLinked(subject: Subject): Account | undefined;
  /** Returns the accounts that have the subject, linked or not. Several accounts have it only for a moment after concurrent logins. */
  ofIssuerSubject(subject: Subject): readonly Account[];
  /** Returns the accounts of the directory that have the id of an entry. */
  ofEntry(entry: DirectoryEntry): readonly Account[];
  /** Returns the account by the user name that Kubernetes sees of a linked account. */
  ofLinkedName(subjectName: string): Account | undefined;
  /** Returns the administrators. There are few, because they are created at the installation or with kubectl. */
  administrators(): readonly Account[];
  /** Returns the machine users, in the order of their names. */
  machineUsers(): readonly Account[];
  /** Watch of the records. */
  readonly watch: Records;
  /** Calls the listener with every created, changed or deleted record. @returns a function that removes the listener */
  onChange(listener: (name: string, change: AccountChange) => void): () => void;
}

/** Entry of a directory. */
interface DirectoryEntry {
  readonly connectorID: string;
  readonly id: string;
}

/** Requires that the records are known. @throws StatusError 503 while they are unknown */
export function requireAccounts({ watch }: Pick<AccountLookup, 'watch'>): void {
  if (!watch.isSynced) throw watch.unavailable();
}

/** Returns the caller's own account, or undefined if there is none. */
export function ownAccount(accounts: Pick<AccountLookup, 'get' | 'ofSubject'>, caller: CallerNames): Account | undefined {
  const account = caller.user === undefined ? accounts.ofSubject(caller.identity.name) : accounts.get(caller.user);
  return isSelf(account, caller) ? account : undefined;
}

/** Returns the time since which the caller has the record, in milliseconds since the epoch; undefined without a record. */
export function ownSince(
  { get, ofSubject }: Pick<AccountLookup, 'get' | 'ofSubject'>,
  { user, identity }: CallerNames,
): number | undefined {
  const account = user === undefined ? ofSubject(identity.name) : get(user);
  return account && account.created * 1000;
}

type Records = Pick<
  WatchCache<{ readonly account: Account }>,
  | 'get'
  | 'values'
  | 'isSynced'
  | 'isSilent'
  | 'state'
  | 'whenSynced'
  | 'unavailable'
  | 'ageSeconds'
  | 'onChange'
  | 'hasSeen'
  | 'waitForWrite'
  | 'until'
>;

/** Index of record names by a property. Records with the same property are ordered by name, so that every replica chooses the same one. */
class NameIndex {
  readonly #names = new Map<string, Set<string>>();

  add(key: string, name: string): void {
    const names = this.#names.get(key);
    if (names === undefined) this.#names.set(key, new Set([name]));
    else names.add(name);
  }

  remove(key: string, name: string): void {
    const names = this.#names.get(key);
    names?.delete(name);
    if (names?.size === 0) this.#names.delete(key);
  }

  /** Returns all names of a key, in order. */
  of(key: string): readonly string[] {
    return [...(this.#names.get(key) ?? [])].sort();
  }
}

/** Looks up accounts in a watch cache of Users. Created before the cache is started. */
export function accountLookup(records: Records): AccountLookup {
  const listeners = new Set<(name: string, change: AccountChange) => void>();
  /** Names of records, by the user name that Kubernetes sees. */
  const names = new Map<string, string>();
  const subjects = new NameIndex();
  const linkedSubjects = new NameIndex();
  const linkedNames = new NameIndex();
  const entries = new NameIndex();

  const get = (name: string) => records.get(name)?.account;
  const administrators = new Set<string>();
  const machineUsers = new Set<string>();

  const nameAdministrator = ({ key, new: current }: Change<{ account: Account }>) => {
    if (current?.account.isAdmin && current.account.isCanonical) administrators.add(key);
    else administrators.delete(key);
  };
  const nameMachine = ({ key, new: current }: Change<{ account: Account }>) => {
    if (current?.account.federation !== undefined) machineUsers.add(key);
    else machineUsers.delete(key);
  };
  const nameSubject = ({ old, new: current }: Change<{ account: Account }>) => {
    if (old && names.get(old.account.subjectName) === old.account.name) names.delete(old.account.subjectName);
    if (current && current.account.subjectName !== '') names.set(current.account.subjectName, current.account.name);
  };

  const nameLinked = ({ old, new: current }: Change<{ account: Account }>) => {
    for (const [account, act] of [
      [old?.account, 'remove'],
      [current?.account, 'add'],
    ] as const) {
      for (const subject of account?.subjects ?? []) subjects[act](keyOf(subject), account?.name ?? '');
      for (const subject of account?.linked ?? []) {
        linkedSubjects[act](keyOf(subject), account?.name ?? '');
        if (subject.subjectName !== '') linkedNames[act](subject.subjectName, account?.name ?? '');
      }
    }
  };
  const nameEntry = ({ old, new: current }: Change<{ account: Account }>) => {
    for (const [account, act] of [
      [old?.account, 'remove'],
      [current?.account, 'add'],
    ] as const)
      if (account?.isCanonical)
        for (const id of account.directoryIDs ?? []) entries[act](entryKey({ connectorID: account.connectorID, id }), account.name);
  };
  const firstOf = ([name]: readonly string[]) => (name === undefined ? undefined : get(name));

  records.onChange((change) => {
    nameSubject(change);
    nameLinked(change);
    nameEntry(change);
    nameAdministrator(change);
    nameMachine(change);
    const told = { old: change.old?.account, new: change.new?.account };
    for (const listener of listeners) listener(change.key, told);
  });

  const find = (login: string) => {
    const account = get(recordName(login) ?? '');
    return account && hasAddress(account, login) ? account : undefined;
  };
  const ofLinked = (subject: Subject) => firstOf(linkedSubjects.of(keyOf(subject)));
  const ofIssuerSubject = (subject: Subject) => subjects.of(keyOf(subject)).flatMap((name) => get(name) ?? []);

  return {
    get,
    *values() {
      for (const { account } of records.values()) yield account;
    },
    find,
    ofLogin(subject, login) {
      const linked = subject && ofLinked(subject);
      if (linked !== undefined) return linked;
      const named = login === undefined ? undefined : find(login);
      const held = subject === undefined ? [] : subjects.of(keyOf(subject));
      if (held.length === 0 || (named !== undefined && held.includes(named.name))) return named;
      return firstOf(held) ?? named;
    },
    ofSubject: (subjectName) => get(names.get(subjectName) ?? '') ?? firstOf(linkedNames.of(subjectName)),
    ofLinked,
    ofIssuerSubject,
    ofEntry: (entry) => entries.of(entryKey(entry)).flatMap((name) => get(name) ?? []),
    ofLinkedName: (subjectName) => firstOf(linkedNames.of(subjectName)),
    administrators: () => [...administrators].flatMap((name) => get(name) ?? []),
    machineUsers: () => [...machineUsers].sort().flatMap((name) => get(name) ?? []),
    watch: records,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

const entryKey = ({ connectorID, id }: DirectoryEntry): string => JSON.stringify([connectorID, id]);

const keyOf = ({ issuer, sub }: Subject): string => JSON.stringify([issuer, sub]);

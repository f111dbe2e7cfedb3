import { serviceUnavailable } from '../http/status.ts';
import type { Change, WatchCache } from '../kubernetes/watch-cache.ts';
import type { Account } from './account.ts';
import { recordName } from './record-name.ts';

/** All User records, as far as this replica has seen the cluster. */
export interface AccountLookup {
  /** By the record's name. One that is a duplicate is marked so. */
  get(name: string): Account | undefined;
  /** By login string, in any case: the record that the name rule names if its whole email agrees, else one under another name. */
  find(login: string): Account | undefined;
  /** By the user name that Kubernetes sees. */
  ofSubject(subjectName: string): Account | undefined;
  /** Administrators made at the installation or with kubectl: few. */
  administrators(): readonly Account[];
  /** Whether the first list is complete. */
  readonly isSynced: boolean;
  /** Why the last attempt to follow them failed, e.g. `404 NotFound` while the resource is not installed. */
  failure(): string | undefined;
  /** Told of every record that comes, changes or goes, or that is a duplicate from then on or no longer. @returns a function that ends it */
  onChange(listener: (name: string) => void): () => void;
  /** Whether that version is seen in time. @throws the signal's reason when it aborts */
  waitFor(resourceVersion: string, timeoutMs: number, signal: AbortSignal): Promise<boolean>;
}

/** To be called before they are relied on. @throws StatusError 503 while they are not known */
export function requireAccounts({ isSynced, failure }: Pick<AccountLookup, 'isSynced' | 'failure'>): void {
  if (!isSynced) throw serviceUnavailable('kubernetes', { cause: new Error(`users: ${failure() ?? 'not listed yet'}`) });
}

type Records = Pick<WatchCache<{ readonly account: Account }>, 'get' | 'isSynced' | 'failure' | 'onChange' | 'waitFor'>;

const keyOf = ({ email }: Account) => email.toLowerCase();

/** Reads accounts out of a watch cache of Users. To be made before the cache is started. */
export function accountLookup(records: Records): AccountLookup {
  /** Names of records under another name than the rule's, by lower-cased email: few, made by hand. */
  const strays = new Map<string, Set<string>>();
  const listeners = new Set<(name: string) => void>();
  /** Of records, by the user name that Kubernetes sees. */
  const names = new Map<string, string>();

  const canonical = (email: string): Account | undefined => {
    const account = records.get(recordName(email) ?? '')?.account;
    return account && keyOf(account) === email.toLowerCase() ? account : undefined;
  };
  const get = (name: string): Account | undefined => {
    const account = records.get(name)?.account;
    if (account === undefined || account.isCanonical) return account;
    return canonical(account.email) === undefined ? account : { ...account, isDuplicate: true };
  };
  const forget = (account: Account | undefined) => {
    if (account === undefined || account.isCanonical) return;
    const others = strays.get(keyOf(account));
    others?.delete(account.name);
    if (others?.size === 0) strays.delete(keyOf(account));
  };
  const keep = (account: Account | undefined) => {
    if (account === undefined || account.isCanonical) return;
    const others = strays.get(keyOf(account));
    if (others === undefined) strays.set(keyOf(account), new Set([account.name]));
    else others.add(account.name);
  };
  const affected = ({ key, old, new: current }: Change<{ account: Account }>): Set<string> => {
    const canonicals = [old?.account, current?.account].filter((account) => account?.isCanonical === true);
    return new Set([key, ...canonicals.flatMap((account) => (account ? [...(strays.get(keyOf(account)) ?? [])] : []))]);
  };

  const administrators = new Set<string>();

  const nameAdministrator = ({ key, new: current }: Change<{ account: Account }>) => {
    if (current?.account.isAdmin) administrators.add(key);
    else administrators.delete(key);
  };
  const nameSubject = ({ old, new: current }: Change<{ account: Account }>) => {
    if (old && names.get(old.account.subjectName) === old.account.name) names.delete(old.account.subjectName);
    if (current && current.account.subjectName !== '') names.set(current.account.subjectName, current.account.name);
  };

  records.onChange((change) => {
    forget(change.old?.account);
    keep(change.new?.account);
    nameSubject(change);
    nameAdministrator(change);
    for (const name of affected(change)) for (const listener of listeners) listener(name);
  });

  return {
    get,
    find(login) {
      const [first] = [...(strays.get(login.toLowerCase()) ?? [])].sort();
      return canonical(login) ?? (first === undefined ? undefined : get(first));
    },
    ofSubject: (subjectName) => get(names.get(subjectName) ?? ''),
    administrators: () => [...administrators].flatMap((name) => get(name) ?? []),
    get isSynced() {
      return records.isSynced;
    },
    failure: () => records.failure(),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    waitFor: (resourceVersion, timeoutMs, signal) => records.waitFor(resourceVersion, timeoutMs, signal),
  };
}

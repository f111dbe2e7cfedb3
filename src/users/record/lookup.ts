import type { StatusError } from '../../api/status.ts';
import type { Change, WatchCache, WatchState } from '../../kubernetes/watch-cache.ts';
import { type Account, hasAddress, type Subject } from './account.ts';
import { recordName } from './name.ts';
import { NameIndex } from './name-index.ts';
import { isSelf, type WhoCalls } from './subject-name.ts';

/** Of one that came, changed or went. */
export interface AccountChange {
  readonly old: Account | undefined;
  readonly new: Account | undefined;
}

/** All User records, as far as this replica has seen the cluster. */
export interface AccountLookup {
  /** By the record's name. */
  get(name: string): Account | undefined;
  /** By login string, in any case: the record that the name rule names, if its whole email agrees. */
  find(login: string): Account | undefined;
  /** By any user name that Kubernetes sees of the user: the first one counts before those of linked accounts. */
  ofSubject(subjectName: string): Account | undefined;
  /** Finds the record of a login by issuer and `sub`, whatever its address; by the login string only if no record has them. */
  ofLogin(subject: Subject | undefined, login: string | undefined): Account | undefined;
  /** By an account of an external issuer that the user has linked. */
  ofLinked(subject: Subject): Account | undefined;
  /** By any account of an external issuer, the one that names the user and linked ones: none or one, but for those of the same moment. */
  ofIssuerSubject(subject: Subject): readonly Account[];
  /** By the user name that Kubernetes sees of a linked account. */
  ofLinkedName(subjectName: string): Account | undefined;
  /** Administrators made at the installation or with kubectl: few. */
  administrators(): readonly Account[];
  /** Whether the first list is complete. */
  readonly isSynced: boolean;
  readonly state: WatchState;
  /** @throws the signal's reason when it aborts before */
  whenSynced(signal: AbortSignal): Promise<void>;
  /** For a caller who needs records that are not known: what to apply, or to try again. */
  unavailable(): StatusError;
  /** Seconds since the API server was last heard of on their watch. */
  ageSeconds(): number;
  /** Told of every record that comes, changes or goes. @returns a function that ends it */
  onChange(listener: (name: string, change: AccountChange) => void): () => void;
  /** Whether that version is seen in time. @throws the signal's reason when it aborts */
  waitFor(resourceVersion: string, timeoutMs: number, signal: AbortSignal): Promise<boolean>;
  /** Whether something is true of them, or becomes so in time. */
  until(isTrue: () => boolean, timeoutMs: number, signal: AbortSignal): Promise<boolean>;
}

/** To be called before they are relied on. @throws StatusError 503 while they are not known */
export function requireAccounts({ isSynced, unavailable }: Pick<AccountLookup, 'isSynced' | 'unavailable'>): void {
  if (!isSynced) throw unavailable();
}

/** The caller's own record, if there is one. */
export function ownAccount(accounts: Pick<AccountLookup, 'get' | 'ofSubject'>, caller: WhoCalls): Account | undefined {
  const account = caller.user === undefined ? accounts.ofSubject(caller.identity.name) : accounts.get(caller.user);
  return isSelf(account, caller) ? account : undefined;
}

type Records = Pick<
  WatchCache<{ readonly account: Account }>,
  'get' | 'isSynced' | 'state' | 'whenSynced' | 'unavailable' | 'ageSeconds' | 'onChange' | 'waitFor' | 'until'
>;

/** Reads accounts out of a watch cache of Users. To be made before the cache is started. */
export function accountLookup(records: Records): AccountLookup {
  const listeners = new Set<(name: string, change: AccountChange) => void>();
  /** Of records, by the user name that Kubernetes sees. */
  const names = new Map<string, string>();
  const subjects = new NameIndex();
  const linkedSubjects = new NameIndex();
  const linkedNames = new NameIndex();

  const get = (name: string) => records.get(name)?.account;
  const administrators = new Set<string>();

  const nameAdministrator = ({ key, new: current }: Change<{ account: Account }>) => {
    if (current?.account.isAdmin && current.account.isCanonical) administrators.add(key);
    else administrators.delete(key);
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
  const firstOf = ([name]: readonly string[]) => (name === undefined ? undefined : get(name));

  records.onChange((change) => {
    nameSubject(change);
    nameLinked(change);
    nameAdministrator(change);
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
    find,
    ofLogin(subject, login) {
      const named = login === undefined ? undefined : find(login);
      if (subject === undefined) return named;
      const held = ofIssuerSubject(subject);
      return ofLinked(subject) ?? held.find(({ name }) => name === named?.name) ?? held[0] ?? named;
    },
    ofSubject: (subjectName) => get(names.get(subjectName) ?? '') ?? firstOf(linkedNames.of(subjectName)),
    ofLinked,
    ofIssuerSubject,
    ofLinkedName: (subjectName) => firstOf(linkedNames.of(subjectName)),
    administrators: () => [...administrators].flatMap((name) => get(name) ?? []),
    get isSynced() {
      return records.isSynced;
    },
    get state() {
      return records.state;
    },
    whenSynced: (signal) => records.whenSynced(signal),
    unavailable: () => records.unavailable(),
    ageSeconds: () => records.ageSeconds(),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    waitFor: (resourceVersion, timeoutMs, signal) => records.waitFor(resourceVersion, timeoutMs, signal),
    until: (isTrue, timeoutMs, signal) => records.until(isTrue, timeoutMs, signal),
  };
}

const keyOf = ({ issuer, sub }: Subject): string => JSON.stringify([issuer, sub]);

/** Subjects of a UserBinding as Kubernetes sees them. */
import type { Subject } from '@atrium/kubernetes/rbac/role-bindings.ts';
import type { Account } from '../users/record/account.ts';
import { localGroupName } from '../users/record/local-groups.ts';
import type { AccountLookup } from '../users/record/lookup.ts';
import { subjectNamesOf } from '../users/record/subject-name.ts';
import type { BindingSubject } from './row.ts';

/** Bound of the subjects in a binding. The API server accepts objects of up to 1.5 MiB. */
const maxBytes = 1024 * 1024;

/** The facts about a Group that bindings need. */
interface KnownGroup {
  readonly uid: string;
  readonly isLocal: boolean;
  readonly members: readonly string[];
}

export interface Known {
  accounts: Pick<AccountLookup, 'get'>;
  /** Looks up a Group by name; undefined where groups are disabled. */
  group: (name: string) => KnownGroup | undefined;
  /** `login.claims.groupsPrefix` */
  groupsPrefix: string;
  /** Receives every record that was looked up, and its state. */
  onUser?: (name: string, subjectName: string) => void;
}

/**
 * Record of a subject when it was first bound: the uid of the User record or Group, '' for a name in Kubernetes. Another object of that
 * name is not bound: a user or group that is deleted and created again must not inherit the roles of the old one.
 */
export interface BoundSubject extends BindingSubject {
  readonly uid: string;
}

export interface BoundSubjects {
  /** Sorted, without duplicates. */
  subjects: readonly Subject[];
  bound: readonly BoundSubject[];
  /** Users who have not logged in yet, so that their name in Kubernetes is unknown. */
  waiting: readonly string[];
  /** Subjects whose record or Group was deleted. */
  gone: readonly BindingSubject[];
  /** Every subject for display, with its kind: users with a record by their e-mail address. */
  shown: readonly string[];
  /** Names without a User record or Group. */
  native: readonly string[];
  /** True if the members of local groups are too many, and are bound by the name of their group alone. */
  isCut: boolean;
}

/** @param before subjects that the status recorded earlier */
export function boundSubjects(named: readonly BindingSubject[], before: readonly BoundSubject[], known: Known): BoundSubjects {
  const finding = new Finding(before, known);
  for (const subject of named) finding.add(subject);
  return finding.result();
}

const systemPrefix = 'system:';

class Finding {
  readonly #before: ReadonlyMap<string, string>;
  readonly #known: Known;
  readonly #subjects = new Map<string, Subject>();
  readonly #members = new Map<string, Subject>();
  readonly #bound: BoundSubject[] = [];
  readonly #waiting: string[] = [];
  readonly #gone: BindingSubject[] = [];
  readonly #native: string[] = [];
  readonly #shown: string[] = [];

  constructor(before: readonly BoundSubject[], known: Known) {
    this.#before = new Map(before.map((subject) => [keyOf(subject), subject.uid]));
    this.#known = known;
  }

  add(subject: BindingSubject): void {
    this.#shown.push(`${subject.kind} ${this.#readableName(subject)}`);
    if (subject.name.startsWith(systemPrefix)) return;
    if (subject.kind === 'User') this.#addUser(subject);
    else this.#addGroup(subject);
  }

  result(): BoundSubjects {
    const own = [...this.#subjects.values()];
    const members = [...this.#members].filter(([key]) => !this.#subjects.has(key)).map(([, subject]) => subject);
    const isCut = members.length > 0 && bytesOf([...own, ...members]) > maxBytes;
    return {
      subjects: [...own, ...(isCut ? [] : members)].sort(byKey),
      bound: this.#bound,
      waiting: this.#waiting,
      gone: this.#gone,
      native: this.#native,
      shown: this.#shown,
      isCut,
    };
  }

  #addUser(subject: BindingSubject): void {
    const record = this.#record(subject.name);
    if (!this.#isSame(subject, record?.uid)) return;
    if (record === undefined) this.#bindNative(subject);
    else if (record.subjectName === '') this.#waiting.push(subject.name);
    else for (const name of subjectNamesOf(record)) this.#bind({ kind: 'User', name });
  }

  #addGroup(subject: BindingSubject): void {
    const { groupsPrefix } = this.#known;
    const found = this.#known.group(subject.name);
    // A Group of the issuer is only a name, so a caller who may create one could redirect a binding to another issuer's group.
    const group = found && !found.isLocal && groupsPrefix !== '' && this.#before.get(keyOf(subject)) === '' ? undefined : found;
    if (!this.#isSame(subject, group?.uid)) return;
    if (group === undefined) this.#bindNative(subject);
    else if (group.isLocal) this.#bindLocal(subject.name, group);
    else this.#bind({ kind: 'Group', name: groupsPrefix + subject.name });
  }

  /** Binds the group, which tokens of the embedded issuer name, and its members, as tokens of other issuers do not name the group. */
  #bindLocal(name: string, { members }: KnownGroup): void {
    this.#bind({ kind: 'Group', name: localGroupName(name) });
    for (const member of members) {
      const record = this.#record(member);
      for (const name of record === undefined ? [] : subjectNamesOf(record)) {
        const subject: Subject = { kind: 'User', name };
        if (isBindable(subject)) this.#members.set(keyOf(subject), subject);
      }
    }
  }

  #readableName({ kind, name }: BindingSubject): string {
    const account = kind === 'User' ? this.#known.accounts.get(name) : undefined;
    return account?.isCanonical ? account.email : name;
  }

  #bindNative(subject: BindingSubject): void {
    this.#native.push(subject.name);
    this.#bind(subject);
  }

  #bind(subject: Subject): void {
    if (isBindable(subject)) this.#subjects.set(keyOf(subject), subject);
  }

  /** Returns the record. A record whose name does not follow the rule is ignored: callers who may create users can choose its name. */
  #record(name: string): BoundRecord | undefined {
    const account = this.#known.accounts.get(name);
    const record = account?.isCanonical === true ? account : undefined;
    this.#known.onUser?.(name, stateOf(record));
    return record;
  }

  #isSame(subject: BindingSubject, uid: string | undefined): boolean {
    const before = this.#before.get(keyOf(subject)) ?? '';
    const isSame = before === '' || before === uid;
    this.#bound.push({ ...subject, uid: isSame ? (uid ?? '') : before });
    if (!isSame) this.#gone.push(subject);
    return isSame;
  }
}

/** Returns a text that changes exactly when the bound names of a record change. */
export const stateOf = (record: BoundRecord | undefined): string =>
  record === undefined ? '' : [record.uid, record.subjectName, ...subjectNamesOf(record)].join(' ');

type BoundRecord = Pick<Account, 'uid' | 'subjectName' | 'linked'>;

const isBindable = ({ name }: Subject) => name !== '' && !name.startsWith(systemPrefix);

const keyOf = ({ kind, name }: BindingSubject) => `${kind} ${name}`;

const byKey = (left: Subject, right: Subject) => (keyOf(left) < keyOf(right) ? -1 : 1);

/** Returns the length of the subjects as JSON, with 70 bytes for the members around each name. */
const bytesOf = (subjects: readonly Subject[]) => subjects.reduce((sum, { name }) => sum + Buffer.byteLength(name) + 70, 0);

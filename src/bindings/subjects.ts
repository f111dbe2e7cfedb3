/** Whom a UserBinding binds, as Kubernetes sees them. */
import type { Account } from '../users/record/account.ts';
import { localGroupName } from '../users/record/local-groups.ts';
import type { AccountLookup } from '../users/record/lookup.ts';
import { subjectNamesOf } from '../users/record/subject-name.ts';
import type { Subject } from './managed-binding.ts';
import type { BindingSubject } from './row.ts';

/** Of the object with its bindings the API server takes 1.5 MiB. */
const maxBytes = 1024 * 1024;

/** What is known of a Group. */
interface KnownGroup {
  readonly uid: string;
  readonly isLocal: boolean;
  readonly members: readonly string[];
}

export interface Known {
  accounts: Pick<AccountLookup, 'get'>;
  /** By name; none where groups are turned off. */
  group: (name: string) => KnownGroup | undefined;
  /** `login.claims.groupsPrefix` */
  groupsPrefix: string;
  /** Told of every record that was asked for, and what it came to. */
  onUser?: (name: string, subjectName: string) => void;
}

/**
 * What a subject was found to be when it was first bound: the uid of the record or Group, '' for a name as Kubernetes sees it. Another
 * object of that name gets nothing: who deletes a user or group and makes one under the name must not hand out what the old one had.
 */
export interface BoundSubject extends BindingSubject {
  readonly uid: string;
}

export interface BoundSubjects {
  /** In order, each once. */
  subjects: readonly Subject[];
  bound: readonly BoundSubject[];
  /** Users who have not logged in yet, so that their name in Kubernetes is not known. */
  waiting: readonly string[];
  /** Whom the binding meant, and who is gone. */
  gone: readonly BindingSubject[];
  /** Every subject as people read it, with its kind: a user who has a record by the e-mail address of it. */
  shown: readonly string[];
  /** Names that are neither of a record nor of a Group. */
  native: readonly string[];
  /** Whether the members of local groups had to be left out, as there are too many: they are bound by the name of the group alone. */
  isCut: boolean;
}

/** @param before what was found before */
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
    // A Group of the issuer says nothing but its name, so a caller who may make one could move a binding to another issuer's group by it.
    const group = found && !found.isLocal && groupsPrefix !== '' && this.#before.get(keyOf(subject)) === '' ? undefined : found;
    if (!this.#isSame(subject, group?.uid)) return;
    if (group === undefined) this.#bindNative(subject);
    else if (group.isLocal) this.#bindLocal(subject.name, group);
    else this.#bind({ kind: 'Group', name: groupsPrefix + subject.name });
  }

  /** Tokens of the embedded issuer name the group; those of others do not, so that the members are bound themselves as well. */
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

  /** Of a record under another name than the rule's the name proves nothing: a caller who may make users could have chosen it. */
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

/** Changes exactly when what a record binds does. */
export const stateOf = (record: BoundRecord | undefined): string =>
  record === undefined ? '' : [record.uid, record.subjectName, ...subjectNamesOf(record)].join(' ');

type BoundRecord = Pick<Account, 'uid' | 'subjectName' | 'linked'>;

const isBindable = ({ name }: Subject) => name !== '' && !name.startsWith(systemPrefix);

const keyOf = ({ kind, name }: BindingSubject) => `${kind} ${name}`;

const byKey = (left: Subject, right: Subject) => (keyOf(left) < keyOf(right) ? -1 : 1);

/** As JSON, with what stands around the names. */
const bytesOf = (subjects: readonly Subject[]) => subjects.reduce((sum, { name }) => sum + Buffer.byteLength(name) + 70, 0);

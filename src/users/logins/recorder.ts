import { isDeepStrictEqual } from 'node:util';
import { timestamp } from '@atrium/kubernetes/clock.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { retryOnConflict } from '@atrium/kubernetes/retry.ts';
import { serviceUnavailable } from '@atrium/objects/status.ts';
import type { Services } from '../../services.ts';
import {
  type Account,
  type AdoptingSubject,
  accountOf,
  accountOfRead,
  forgottenSub,
  hasAddress,
  hasSubject,
  type IssuersInUse,
  isLinkedAccount,
  isOf,
  isRenamed,
  recordName,
  type Subject,
  shortHash,
  withoutSubject,
} from '../record/account.ts';
import { type AccountPhase, phaseOf } from '../record/conditions.ts';
import { createdByAnnotation, isLabelValue, labelsToChange, userLabels } from '../record/labels.ts';
import type { AccountLookup } from '../record/lookup.ts';
import { UserRecords } from '../record/records.ts';
import {
  displayName,
  maxGroups,
  readUser,
  recordableGroups,
  sourceIDs,
  type UserSpec,
  type UserStatus,
  userApiVersion,
} from '../record/schema.ts';
import { UserStatusWriter } from '../status.ts';

/** Login with the claims of the issuer. */
export interface Login {
  /** E-mail address, or else the user name, by which the record is found. */
  login: string;
  /** Display name for a record that has none yet. */
  displayName?: string | undefined;
  connector: { type: string; id: string; name: string };
  /** Identity at the source behind the connector. */
  sourceID?: { type: string; id: string } | undefined;
  /** Groups without prefix. Undefined if they are unknown, and then the record keeps its groups. */
  groups: readonly string[] | undefined;
  /** User name that Kubernetes sees, with prefix. */
  subjectName: string;
  /** Subject at the issuer. Absent for the embedded issuer, whose `sub` identifies a record by itself. */
  subject?: AdoptingSubject | undefined;
}

interface Recording {
  outcome: 'recorded';
  account: Account;
  /** True if this login has created the record. */
  isNew?: boolean;
  /** True if this login has adopted the record. */
  isNewSubject?: boolean;
}

export type Recorded =
  | Recording
  /** The resource is not installed. Login works without records. */
  | { outcome: 'no-records' }
  | { outcome: 'refused'; reason: 'NotALogin' | 'NoRecord' | 'EmailDiffers' | 'AdministratorIsLocal' | 'SubjectDiffers' }
  /** The account of the issuer belongs to a record under another name; undefined if that record is being created by a concurrent login. */
  | { outcome: 'refused'; reason: 'AddressChanged'; account: Account | undefined }
  | { outcome: 'refused'; reason: 'Phase'; phase: AccountPhase };

/** Limits of the custom resource definition. */
const maxSubjectName = 512;
const maxSubjects = 16;

/** Creates or updates the User at a login, with the service account (docs/contract/login.md). */
export class LoginRecorder {
  readonly #services: Services;
  readonly #accounts: AccountLookup;
  readonly #inUse: IssuersInUse;
  readonly #records: UserRecords;
  readonly #status: UserStatusWriter;

  constructor(services: Services, accounts: AccountLookup, inUse: IssuersInUse = { external: new Set(), hasEmbedded: false }) {
    this.#services = services;
    this.#accounts = accounts;
    this.#inUse = inUse;
    this.#records = new UserRecords(services.client);
    this.#status = new UserStatusWriter(services);
  }

  /**
   * Records the login of a user whose phase is Normal at that moment. Other users are refused, because a login would make an idle user
   * active again. After it resolves, `accounts` of this replica has the record, unless the watch is behind.
   *
   * @param known account of the login, if the caller has found it
   * @throws StatusError 503, 504
   */
  async record(login: Login, signal: AbortSignal, known = this.#accounts.ofLogin(login.subject, login.login)): Promise<Recorded> {
    const accounts = this.#accounts;
    const { log } = this.#services;
    const name = known?.name ?? recordName(login.login);
    if (name === undefined || login.subjectName.length > maxSubjectName) return { outcome: 'refused', reason: 'NotALogin' };
    const holder = login.subject && accounts.ofLinkedName(login.subjectName);
    // The issuer has given the name of a linked account to another person, who must not get the rights of the first one.
    if (holder && login.subject && !hasSubject(holder, login.subject)) return { outcome: 'refused', reason: 'SubjectDiffers' };
    const groups = login.groups && recordableGroups(login.groups);
    const recorded = await retryOnConflict(() => this.#attempt(name, { ...login, groups: groups?.slice(0, maxGroups) }, signal), signal);
    if (recorded === undefined)
      throw serviceUnavailable('kubernetes', { cause: new Error('concurrent writes of the User prevented the change') });
    if (recorded.outcome === 'refused') log.info({ user: name, reason: recorded.reason }, 'login could not be recorded');
    if (recorded.outcome !== 'recorded') return recorded;
    if (groups !== undefined && groups.length > maxGroups)
      log.warn(
        { user: name, groups: groups.length, kept: maxGroups },
        `groups truncated: the record and access tokens of the user keep ${maxGroups} groups`,
      );
    if (!accounts.watch.isSynced) return recorded;
    await accounts.watch.waitForWrite(recorded.account.resourceVersion, signal);
    return (await this.#takenBack(recorded, login, signal)) ?? recorded;
  }

  /**
   * Refuses the later of two concurrent logins of a new account with different addresses, which have each created a record on two replicas.
   * A replica that sees its own write has seen all earlier ones, so that the later login undoes its write.
   */
  async #takenBack({ account, isNewSubject, isNew }: Recording, { subject }: Login, signal: AbortSignal): Promise<Recorded | undefined> {
    if (subject === undefined || !isNewSubject) return undefined;
    if (this.#accounts.ofIssuerSubject(subject).every(({ name }) => name === account.name)) return undefined;
    if (isNew) await this.#remove(account, signal);
    else await this.#status.patchIfExists(account, (object) => withoutSubject(object, subject), signal);
    return { outcome: 'refused', reason: 'AddressChanged', account: undefined };
  }

  async #remove({ name, uid }: Account, signal: AbortSignal): Promise<void> {
    await retryOnConflict(async () => {
      const object = await this.#records.read(name, signal);
      if (object === undefined || object === 'notInstalled' || object.metadata.uid !== uid) return true;
      return (await this.#records.remove(object.metadata, signal)) || undefined;
    }, signal);
  }

  /** Returns undefined after a conflict. */
  async #attempt(name: string, login: Login, signal: AbortSignal): Promise<Recorded | undefined> {
    const { config, now } = this.#services;
    const found = await this.#records.read(name, signal);
    if (found === 'notInstalled') return { outcome: 'no-records' };
    const time = now();
    if (found !== undefined) {
      const user = readUser(found);
      const account = accountOfRead(found, user);
      const refusal = this.#refusal(account, login, time);
      if (refusal !== undefined) return refusal;
      const { subject } = login;
      const isLinked = subject !== undefined && isLinkedAccount(account, subject);
      return isLinked ? this.#writeLinked(found, login, subject, time, signal) : this.#update(found, user, { login, time }, signal);
    }
    if (!config.users.autoProvision) return { outcome: 'refused', reason: 'NoRecord' };
    const created = await this.#records.create(newUser(name, login), signal);
    const written = created && (await this.#writeStatus(created, {}, { login, time }, signal));
    return written && { ...written, isNew: true };
  }

  #refusal(account: Account, { login, connector, subject, subjectName }: Login, time: Date): Recorded | undefined {
    if (account.federation !== undefined) return { outcome: 'refused', reason: 'SubjectDiffers' };
    const isOfLinked = subject !== undefined && isLinkedAccount(account, subject);
    const isKnown = subject !== undefined && hasSubject(account, subject);
    if (isKnown && !isOfLinked && isRenamed(account, { login, subjectName }))
      return { outcome: 'refused', reason: 'AddressChanged', account };
    if (!isKnown && !hasAddress(account, login)) return { outcome: 'refused', reason: 'EmailDiffers' };
    // The subject is checked before the phase, because the phase of another person's account must not be disclosed.
    if (subject !== undefined && !isOf(account, subject, this.#inUse)) return { outcome: 'refused', reason: 'SubjectDiffers' };
    const phase = phaseOf(account, time, this.#services.config.users.idleDays);
    if (phase.phase !== 'Normal') return { outcome: 'refused', reason: 'Phase', phase };
    // The custom resource definition has the same rule: an issuer that claims the address of an administrator must not become one.
    if (account.isAdmin && connector.id !== 'local') return { outcome: 'refused', reason: 'AdministratorIsLocal' };
    return undefined;
  }

  async #update(object: KubernetesObject, { spec: old = {}, status }: ReadUser, now: LoginNow, signal: AbortSignal) {
    const changes = specOf(now.login, old);
    const spec = { ...old, ...changes };
    // The controller corrects labels that do not follow the spec.
    if (isDeepStrictEqual(spec, old)) return this.#writeStatus(object, status, now, signal);
    const labels = labelsToChange(object.metadata.labels, spec);
    const updated = await this.#records.patch(object, { spec: changes, ...(labels && { labels }) }, signal);
    return updated && this.#writeStatus(updated, readUser(updated).status, now, signal);
  }

  /** Writes a login of a linked account. Its claims are stored with the linked account, because it does not name the user. */
  async #writeLinked(
    object: KubernetesObject,
    { groups, subjectName }: Login,
    { issuer, sub }: Subject,
    time: Date,
    signal: AbortSignal,
  ): Promise<Recorded | undefined> {
    const { status: old = {} } = readUser(object);
    const recorded = groups && { groups };
    const isIt = (known: Partial<Subject>) => known.issuer === issuer && known.sub === sub;
    const subjects = (old.subjects ?? []).map((known) => (isIt(known) ? { ...known, subjectName, ...recorded } : known));
    const written = await this.#status.patchVersion(object, { subjects, lastLoginTime: timestamp(time) }, signal);
    return written && { outcome: 'recorded', account: accountOf(written) };
  }

  async #writeStatus(
    object: KubernetesObject,
    old: UserStatus = {},
    { login: { groups, subjectName, subject }, time }: LoginNow,
    signal: AbortSignal,
  ): Promise<Recording | undefined> {
    // The first login may have failed between the two writes, so that the record is older than this login.
    const isFirst = old.lastLoginTime === undefined && old.groups === undefined;
    const told = {
      ...(groups && { groups }),
      subjectName,
      ...(subject && { subjects: subjectsWith(old.subjects, subject) }),
      lastLoginTime: timestamp(time),
      ...(isFirst && { activatedTime: timestamp(time) }),
    };
    const written = await this.#status.patchVersion(object, told, signal);
    const isNewSubject = subject !== undefined && told.subjects !== old.subjects;
    return written && { outcome: 'recorded', account: accountOf(written), isNewSubject };
  }
}

type ReadUser = ReturnType<typeof readUser>;

interface LoginNow {
  login: Login;
  time: Date;
}

/** Adds a subject. The oldest one is dropped beyond the limit. */
function subjectsWith(old: UserStatus['subjects'] = [], { issuer, sub }: Subject): object[] {
  const others = old.filter((known) => known.issuer !== issuer || known.sub !== forgottenSub);
  if (others.some((known) => known.issuer === issuer)) return old;
  return [...others.slice(1 - maxSubjects), { issuer, sub }];
}

function newUser(name: string, login: Login) {
  const spec = { email: login.login, username: '', is_admin: false, ...specOf(login, {}) };
  return {
    apiVersion: userApiVersion,
    kind: 'User',
    metadata: { name, labels: userLabels(spec), annotations: { [createdByAnnotation]: 'login' } },
    spec,
  };
}

/** Returns the members of the spec that a login sets. */
function specOf(login: Login, old: UserSpec) {
  const { connector, sourceID } = login;
  const username = displayName(login.displayName ?? '');
  const ids = sourceID && sourceIDs(old.ids, sourceID);
  return {
    connector_type: /^[a-z0-9-]{0,63}$/.test(connector.type) ? connector.type : 'oidc',
    connector_id: isLabelValue(connector.id) ? connector.id : shortHash(connector.id),
    connector_name: displayName(connector.name),
    ...(!old.username && username !== '' && { username }),
    ...(ids && { ids }),
  };
}

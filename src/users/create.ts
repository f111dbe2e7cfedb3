/** Creation of local users. The caller's rights write the record, and the service account the status and the password. */
import type { Caller } from '@atrium/http/caller.ts';
import { timestamp } from '@atrium/kubernetes/clock.ts';
import { neverAborts } from '@atrium/kubernetes/deadline.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { retryOnConflict } from '@atrium/kubernetes/retry.ts';
import { duplicate, type FieldError, forbidden, invalidValue, required } from '@atrium/objects/field-error.ts';
import { partsOf } from '@atrium/objects/reader.ts';
import { alreadyExists, conflict, StatusError, serviceUnavailable } from '@atrium/objects/status.ts';
import { type ObjectRules, readObject } from '@atrium/objects/validation.ts';
import type { Strategy } from '../collection/standard-writes.ts';
import { requireNoAccessToken, requireRecentLogin } from '../step-up/sensitive-writes.ts';
import type { UsersContext } from './context.ts';
import { PasswordSecrets } from './passwords/secret.ts';
import { type Account, accountOf, recordName } from './record/account.ts';
import { machineSource, machineSubjectName } from './record/federation.ts';
import { createdByAnnotation, userLabels } from './record/labels.ts';
import { UserRecords } from './record/records.ts';
import { displayName, userApiVersion, userResource } from './record/schema.ts';
import { localSubjectName } from './record/subject-name.ts';
import { UserStatusWriter } from './status.ts';
import { type NewUser, nameViolations, newUserBody, secretFields } from './user-body.ts';

/** Timeout of the rollback of a failed creation. The rollback has its own deadline, because that of the request may have passed. */
const takeBackMs = 5_000;

/** Rules of new users. */
export function createStrategy(context: UsersContext): Strategy<NewUser, never> {
  const completion = new Completion(context);
  return {
    newBody: newUserBody,
    admit: (caller) => requireNoAccessToken('newUser', caller),
    read: (body, rules) => readNewUser(context, body, rules),
    beforeCreate: (user, caller, signal) => requireNewUser(context, user, caller, signal),
    manifestOf,
    // The record was created a moment ago, here or on another replica, and the watch has not delivered it yet.
    takenBy: ({ spec: { email } }) => emailTaken(recordName(email) ?? '', email),
    beginCreate: (user) => completion.begin(user),
  };
}

/** Reads the body, decrypts the password, and reports all violations at once, with those of the password rules. */
async function readNewUser({ services, newPasswords }: UsersContext, body: unknown, rules: ObjectRules) {
  const { spec: given = {} } = partsOf(body);
  const email = typeof given.email === 'string' ? given.email : '';
  const username = typeof given.username === 'string' ? given.username : email;
  const { password, violations } =
    typeof given.password === 'string'
      ? await newPasswords.read(given.password, 'spec.password', { email, username })
      : { password: '', violations: [] };
  const { object, warnings } = readObject(newUserBody, body, {
    ...rules,
    name: recordName(email) ?? '',
    secretFields,
    alsoWrong: [
      ...violations,
      ...credentialErrors(given),
      ...nameErrors(body, email),
      ...nameViolations(given.username, email),
      ...(isChangeRequired(services) && given.must_change_password === false ? [changeRequired] : []),
    ],
  });
  return { object: { ...object, spec: { ...object.spec, ...(object.spec.password !== undefined && { password }) } }, warnings };
}

/** Requires a password or trusted tokens, and not both. */
function credentialErrors(given: Readonly<Record<string, unknown>>): FieldError[] {
  if (given.federation === undefined) return given.password === undefined ? [required('spec.password')] : [];
  const ofPeople = ['password', 'must_change_password', 'connector_type', 'connector_id', 'connector_name'];
  return ofPeople.filter((name) => given[name] !== undefined).map((name) => forbidden(`spec.${name}`, 'a machine user has no login'));
}

const isChangeRequired = ({ config }: UsersContext['services']) => config.users.passwordPolicy.changeOnFirstLogin;

/** Requires the rights to a new user, whose e-mail address has no record. @throws StatusError 401, 403, 409, 503 */
async function requireNewUser(
  { services, accounts, rights }: UsersContext,
  { spec: { email, federation } }: NewUser,
  caller: Caller,
  signal: AbortSignal,
): Promise<void> {
  const name = recordName(email) ?? '';
  // A caller who sets the trusted tokens of a machine user can act as it.
  if (federation !== undefined) await rights.requireImpersonation(caller, machineSubjectName(email), signal);
  else await rights.requireForNew(caller, { name, email }, signal);
  requireRecentLogin('newUser', caller, services.config.login.stepUp, services.now());
  refuseKnown(name, email, accounts.find(email), accounts.get(name));
}

/** Credential of a new user; no hash for a machine user. */
interface NewCredential {
  hash: string | undefined;
  mustChangePassword: boolean;
}

/**
 * Completes a created record with its status and password, or removes it. If the removal fails, a mark in the status has the record removed
 * later. If the mark could not be written either, the record stays without a password, like one that was created with kubectl.
 */
class Completion {
  readonly #context: UsersContext;
  readonly #records: UserRecords;
  readonly #secrets: PasswordSecrets;
  readonly #status: UserStatusWriter;

  constructor(context: UsersContext) {
    this.#context = context;
    this.#records = new UserRecords(context.services.client);
    this.#secrets = new PasswordSecrets(context.services);
    this.#status = new UserStatusWriter(context.services);
  }

  /** Hashes the password before the record exists. @returns a function that completes the record; @throws StatusError 429 */
  async begin({ spec }: NewUser) {
    const { newPasswords, services } = this.#context;
    const hash = spec.password === undefined ? undefined : await newPasswords.hash(spec.password);
    const mustChangePassword = hash !== undefined && (isChangeRequired(services) || spec.must_change_password === true);
    return (user: KubernetesObject) => this.#complete(user, { hash, mustChangePassword });
  }

  async #complete(user: KubernetesObject, given: NewCredential) {
    try {
      return await this.#finish(user, given);
    } catch (error) {
      await this.#takeBack(user, given.hash, AbortSignal.timeout(takeBackMs)).catch(() => undefined);
      throw error instanceof StatusError && error.status.code >= 500 ? error : serviceUnavailable('kubernetes', { cause: error });
    }
  }

  /** Writes the status and the password. The last write removes the mark. Until then, a required password change is in effect already. */
  async #finish(user: KubernetesObject, { hash, mustChangePassword }: NewCredential) {
    const { services, naming } = this.#context;
    const time = services.now();
    const { name, uid } = user.metadata;
    await this.#status.patch({ name, uid }, { unfinishedSince: timestamp(time), mustChangePassword });
    if (hash !== undefined) await this.#secrets.put({ user: { name, uid }, hash, changedAt: time }, neverAborts);
    const account = accountOf(user);
    const subjectName = account.federation === undefined ? localSubjectName(account, naming) : account.subjectName;
    return this.#status.patch(
      { name, uid },
      {
        ...(subjectName !== undefined && { subjectName }),
        activatedTime: timestamp(time),
        ...(hash !== undefined && { passwordChangedTime: timestamp(time) }),
        unfinishedSince: null,
      },
    );
  }

  /** Removes the record, unless another request has set a password since, or the user has logged in. */
  async #takeBack({ metadata: { name, uid } }: KubernetesObject, hash: string | undefined, signal: AbortSignal): Promise<void> {
    await retryOnConflict(async () => {
      const found = await this.#records.read(name, signal);
      if (found === undefined || found === 'notInstalled' || found.metadata.uid !== uid) return false;
      const stored = await this.#secrets.read({ name, uid }, signal);
      if (stored !== undefined && stored.hash !== hash) return false;
      if (partsOf(found).status?.lastLoginTime !== undefined) return false;
      // The controller of user states may write the record at the same time.
      return (await this.#records.remove(found.metadata, signal)) || undefined;
    }, signal);
  }
}

function manifestOf({ spec, metadata }: NewUser, caller: Caller) {
  const { password: _password, must_change_password: _mustChange, ...given } = spec;
  const full = {
    ...given,
    username: spec.username ?? displayName(spec.email),
    is_admin: false,
    ...(spec.federation ? machineSource : { connector_type: 'local', connector_id: 'local', connector_name: 'Local' }),
    ...(spec.is_disabled && { state: 'inactive' }),
  };
  return {
    apiVersion: userApiVersion,
    kind: 'User',
    metadata: {
      name: recordName(spec.email) ?? '',
      labels: { ...metadata?.labels, ...userLabels(full) },
      annotations: { ...metadata?.annotations, [createdByAnnotation]: caller.identity.name },
    },
    spec: full,
  };
}

function nameErrors(body: unknown, email: string): FieldError[] {
  const name = partsOf(body).metadata?.name;
  const expected = recordName(email);
  if (typeof name !== 'string' || expected === undefined || name === expected) return [];
  return [invalidValue('metadata.name', name, `must be ${expected}, which is derived from the e-mail address, or omitted`)];
}

/** Names the e-mail address, because callers do not know the record name that is derived from it. */
const emailTaken = (name: string, email: string): StatusError =>
  alreadyExists(userResource, name, { given: email, causes: [duplicate('spec.email', email)] });

const changeRequired = invalidValue(
  'spec.must_change_password',
  false,
  'must be true or left out: users.passwordPolicy.changeOnFirstLogin requires the change of every new user',
);

/**
 * Refuses an e-mail address that has a record, and a record name that belongs to another address. The latter takes a hash collision, or a
 * record written by hand. Until that record is deleted, the user can neither be created nor log in.
 */
function refuseKnown(name: string, email: string, byEmail: Account | undefined, byName: Account | undefined): void {
  if (byName !== undefined && byName.email.toLowerCase() !== email.toLowerCase())
    throw conflict(userResource, name, `a record of another e-mail address has the name ${name}: delete that record first`);
  if (byEmail !== undefined) throw emailTaken(byEmail.name, email);
}

import type { Caller } from '@atrium/http/caller.ts';
import { timestamp } from '@atrium/kubernetes/clock.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { CallerResource, type NewObject } from '@atrium/kubernetes/resource-client.ts';
import { retryOnConflict } from '@atrium/kubernetes/retry.ts';
import { isRefusal, isUnknownResource } from '@atrium/kubernetes/upstream-error.ts';
import { duplicate, type FieldError, invalidValue } from '@atrium/objects/field-error.ts';
import { partsOf } from '@atrium/objects/reader.ts';
import { alreadyExists, conflict, StatusError, serviceUnavailable } from '@atrium/objects/status.ts';
import { type FieldValidation, readObject } from '@atrium/objects/validation.ts';
import type { WriteRequest } from '@atrium/objects/write-options.ts';
import { requireNoAccessToken, requireRecentLogin } from '../step-up/sensitive-writes.ts';
import type { UsersContext } from './context.ts';
import { PasswordSecrets } from './passwords/secret.ts';
import { type Account, accountOf, recordName } from './record/account.ts';
import { createdByAnnotation, userLabels } from './record/labels.ts';
import { UserRecords } from './record/records.ts';
import { displayName, userApiVersion, userKind, userResource } from './record/schema.ts';
import { localSubjectName } from './record/subject-name.ts';
import { UserStatusWriter } from './status.ts';
import { type NewUser, nameViolations, newUserBody } from './user-body.ts';

/** Timeout of the rollback of a failed creation. The rollback has its own deadline, because that of the request may have passed. */
const takeBackMs = 5_000;

/** Creates local users. Writes the record with the caller's rights, the status and the password with the service account. */
export class UserCreator {
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

  /**
   * Creates a user completely, or not at all. A failed creation is rolled back. If the rollback fails, a mark in the status has the record
   * removed later. If the mark could not be written either, the record stays without a password, like one that was created with kubectl.
   *
   * @returns the User, and the texts of warnings
   * @throws StatusError 400, 401, 403, 409, 422, 429, 503, 504
   */
  async create({ body, isDryRun, fieldValidation }: WriteRequest, caller: Caller, signal: AbortSignal) {
    const { services, accounts, newPasswords, rights } = this.#context;
    requireNoAccessToken('newUser', caller);
    await services.access.require(caller, { ...userResource, verb: 'create' }, signal);
    const { spec, metadata, password, mustChangePassword, warnings } = await this.#read(body, fieldValidation);
    const name = recordName(spec.email) ?? '';
    await rights.requireForNew(caller, { name, email: spec.email }, signal);
    requireRecentLogin('newUser', caller, services.config.login.stepUp, services.now());
    refuseKnown(name, spec.email, accounts.find(spec.email), accounts.get(name));
    if (isDryRun)
      return { user: await this.#post(spec.email, manifestOf({ name, spec, metadata }, caller), caller, { isDryRun, signal }), warnings };
    const hash = await newPasswords.hash(password);
    const user = await this.#post(spec.email, manifestOf({ name, spec, metadata }, caller), caller, { isDryRun, signal });
    try {
      const finished = await this.#finish(user, { hash, mustChangePassword }, signal);
      await accounts.watch.waitForWrite(finished.metadata.resourceVersion, signal);
      return { user: finished, warnings };
    } catch (error) {
      await this.#takeBack(user, hash, AbortSignal.timeout(takeBackMs)).catch(() => undefined);
      throw error instanceof StatusError && error.status.code >= 500 ? error : serviceUnavailable('kubernetes', { cause: error });
    }
  }

  /** Reads the body, and reports all violations at once, with those of the password rules. */
  async #read(body: unknown, fieldValidation: FieldValidation) {
    const { spec: given = {} } = partsOf(body);
    const email = typeof given.email === 'string' ? given.email : '';
    const username = typeof given.username === 'string' ? given.username : email;
    const { password, violations } =
      typeof given.password === 'string'
        ? await this.#context.newPasswords.read(given.password, 'spec.password', { email, username })
        : { password: '', violations: [] };
    const isChangeRequired = this.#context.services.config.users.passwordPolicy.changeOnFirstLogin;
    const { object, warnings } = readObject(newUserBody, body, {
      group: userResource.group,
      kind: 'User',
      name: recordName(email) ?? '',
      fieldValidation,
      secretFields: ['spec.password', 'spec.old_password'],
      alsoWrong: [
        ...violations,
        ...nameErrors(body, email),
        ...nameViolations(given.username, email),
        ...(isChangeRequired && given.must_change_password === false ? [changeRequired] : []),
      ],
    });
    const mustChangePassword = isChangeRequired || object.spec.must_change_password === true;
    return { spec: object.spec, metadata: object.metadata, password, mustChangePassword, warnings };
  }

  #post(
    email: string,
    manifest: NewObject,
    caller: Caller,
    { isDryRun, signal }: { isDryRun: boolean; signal: AbortSignal },
  ): Promise<KubernetesObject> {
    const users = new CallerResource(this.#context.services.apiServer.asCaller(caller), userKind);
    return users.create(manifest, { isDryRun, signal }).catch((error: unknown) => {
      // The record was created a moment ago, here or on another replica, and the watch has not delivered it yet.
      if (isRefusal(error, 409) && error.status.reason === 'AlreadyExists') throw emailTaken(recordName(email) ?? '', email);
      throw isUnknownResource(error)
        ? serviceUnavailable('kubernetes', { cause: new Error('users are not installed', { cause: error }) })
        : error;
    });
  }

  /** Writes the status and the password. The last write removes the mark. Until then, a required password change is in effect already. */
  async #finish(
    user: KubernetesObject,
    { hash, mustChangePassword }: { hash: string; mustChangePassword: boolean },
    signal: AbortSignal,
  ): Promise<KubernetesObject> {
    const { services, naming } = this.#context;
    const time = services.now();
    const { name, uid } = user.metadata;
    await this.#status.patch({ name, uid }, { unfinishedSince: timestamp(time), mustChangePassword });
    await this.#secrets.put({ user: { name, uid }, hash, changedAt: time }, signal);
    const subjectName = localSubjectName(accountOf(user), naming);
    return this.#status.patch(
      { name, uid },
      {
        ...(subjectName !== undefined && { subjectName }),
        activatedTime: timestamp(time),
        passwordChangedTime: timestamp(time),
        unfinishedSince: null,
      },
    );
  }

  /** Removes the record, unless another request has set a password since, or the user has logged in. */
  async #takeBack({ metadata: { name, uid } }: KubernetesObject, hash: string, signal: AbortSignal): Promise<void> {
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

function manifestOf({ name, spec, metadata }: { name: string; spec: NewUser['spec']; metadata: NewUser['metadata'] }, caller: Caller) {
  const { password: _password, must_change_password: _mustChange, ...given } = spec;
  const full = {
    ...given,
    username: spec.username ?? displayName(spec.email),
    is_admin: false,
    connector_type: 'local',
    connector_id: 'local',
    connector_name: 'Local',
    ...(spec.is_disabled && { state: 'inactive' }),
  };
  return {
    apiVersion: userApiVersion,
    kind: 'User',
    metadata: {
      name,
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

import { duplicate, type FieldError, invalidValue } from '../api/field-error.ts';
import { type FieldValidation, readObject } from '../api/object-body.ts';
import { partsOf } from '../api/reader.ts';
import { alreadyExists, conflict, StatusError, serviceUnavailable } from '../api/status.ts';
import type { Caller } from '../http/operation.ts';
import { requireNoAccessToken, requireRecentLogin } from '../http/sensitive-writes.ts';
import type { KubernetesObject } from '../kubernetes/resource.ts';
import { CallerResource, type NewObject } from '../kubernetes/resource-client.ts';
import { timestamp } from '../kubernetes/timestamp.ts';
import { seenWithinMs } from '../kubernetes/until.ts';
import { isRefusal } from '../kubernetes/upstream-error.ts';
import type { UsersContext } from './context.ts';
import { PasswordSecrets } from './passwords/secret.ts';
import { type Account, accountOf } from './record/account.ts';
import { createdByAnnotation, userLabels } from './record/labels.ts';
import { recordName } from './record/name.ts';
import { UserRecords, untilUncontested } from './record/records.ts';
import { userApiVersion, userKind, userResource } from './record/resource.ts';
import { localSubjectName } from './record/subject-name.ts';
import { UserStatusWriter } from './status.ts';
import { type NewUser, nameViolations, newUserBody } from './user-body.ts';

interface CreateRequest {
  body: unknown;
  isDryRun: boolean;
  fieldValidation: FieldValidation;
}

/** What is done when a creation failed must not fail with it. */
const takeBackMs = 5_000;

/** Makes local users: the record with the caller's rights, the status and the password with ours. */
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
   * All or nothing: what is begun and cannot be finished is taken back, and where even that fails, a mark in the status has it removed
   * later. Where not even the mark could be written, the record stays as one that was made with kubectl: without a password.
   *
   * @returns the User, and the texts of warnings
   * @throws StatusError 400, 401, 403, 409, 422, 429, 503, 504
   */
  async create({ body, isDryRun, fieldValidation }: CreateRequest, caller: Caller, signal: AbortSignal) {
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
      await accounts.waitFor(finished.metadata.resourceVersion, seenWithinMs, signal);
      return { user: finished, warnings };
    } catch (error) {
      await this.#takeBack(user, hash, AbortSignal.timeout(takeBackMs)).catch(() => undefined);
      throw error instanceof StatusError && error.status.code >= 500 ? error : serviceUnavailable('kubernetes', { cause: error });
    }
  }

  /** Every violation at once, those of the password's rules among them. */
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
      // Made a moment ago, here or on another replica, which has not been heard of yet.
      if (isRefusal(error, 409) && error.status.reason === 'AlreadyExists') throw emailTaken(recordName(email) ?? '', email);
      throw isRefusal(error, 404)
        ? serviceUnavailable('kubernetes', { cause: new Error('users are not installed', { cause: error }) })
        : error;
    });
  }

  /** The mark goes with the last write. Until then a password that has to be changed is due already. */
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

  /** Unless another request has given it a password meanwhile, or the user has logged in. */
  async #takeBack({ metadata: { name, uid } }: KubernetesObject, hash: string, signal: AbortSignal): Promise<void> {
    await untilUncontested(async () => {
      const found = await this.#records.read(name, signal);
      if (found === undefined || found === 'notInstalled' || found.metadata.uid !== uid) return false;
      const stored = await this.#secrets.read({ name, uid }, signal);
      if (stored !== undefined && stored.hash !== hash) return false;
      if (partsOf(found).status?.lastLoginTime !== undefined) return false;
      // The controller that keeps the states of users may write it at that moment.
      return (await this.#records.remove(found.metadata, signal)) || undefined;
    }, signal);
  }
}

function manifestOf({ name, spec, metadata }: { name: string; spec: NewUser['spec']; metadata: NewUser['metadata'] }, caller: Caller) {
  const { password: _password, must_change_password: _mustChange, ...given } = spec;
  const full = {
    ...given,
    username: spec.username ?? spec.email,
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
  return [invalidValue('metadata.name', name, `must be ${expected}, which the e-mail address makes it, or left out`)];
}

/** Callers know the e-mail address, and not the name that is made of it. */
const emailTaken = (name: string, email: string): StatusError =>
  alreadyExists(userResource, name, { given: email, causes: [duplicate('spec.email', email)] });

const changeRequired = invalidValue(
  'spec.must_change_password',
  false,
  'must be true or left out: users.passwordPolicy.changeOnFirstLogin requires the change of every new user',
);

/** Another email can only have the name by a chance that was never seen yet, or by hand. Until it is deleted the person can neither be made nor log in. */
function refuseKnown(name: string, email: string, byEmail: Account | undefined, byName: Account | undefined): void {
  if (byName !== undefined && byName.email.toLowerCase() !== email.toLowerCase())
    throw conflict(userResource, name, `a record of another e-mail address has the name ${name}: delete that record first`);
  if (byEmail !== undefined) throw emailTaken(byEmail.name, email);
}

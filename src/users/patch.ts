import type { Caller } from '@atrium/http/caller.ts';
import { timestamp } from '@atrium/kubernetes/clock.ts';
import { neverAborts } from '@atrium/kubernetes/deadline.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { CallerResource, ServiceResource } from '@atrium/kubernetes/resource-client.ts';
import { retryOnConflict } from '@atrium/kubernetes/retry.ts';
import { type FieldError, forbidden as forbiddenField, invalidValue, required } from '@atrium/objects/field-error.ts';
import { checkTests, mergePatchOf, type PatchTest } from '@atrium/objects/json-patch.ts';
import { partsOf } from '@atrium/objects/reader.ts';
import { badRequest, conflict, forbidden, invalid, notFound, passwordDue, StatusError, tooManyRequests } from '@atrium/objects/status.ts';
import { type FieldValidation, readObject } from '@atrium/objects/validation.ts';
import { isVersionAsked, requiresVersion } from '@atrium/objects/write-options.ts';
import type { AuditOrigin } from '../audit/audit.ts';
import { requireNoAccessToken, requireRecentLogin } from '../step-up/sensitive-writes.ts';
import type { UsersContext } from './context.ts';
import { noFailures } from './logins/lockout.ts';
import { type Account, accountOf } from './record/account.ts';
import { UserRecords } from './record/records.ts';
import { userKind, userResource } from './record/schema.ts';
import { isSelf } from './record/subject-name.ts';
import { servedText } from './row.ts';
import { UserStatusWriter } from './status.ts';
import { hasPassed, nameViolations, specChanges, type UserPatch, userPatchBody } from './user-body.ts';

export interface PatchRequest {
  name: string;
  body: unknown;
  isJsonPatch: boolean;
  /** Value of the `If-Match` header; undefined without one. */
  ifMatch: string | undefined;
  isDryRun: boolean;
  fieldValidation: FieldValidation;
  origin: AuditOrigin;
  /** Receives each write that took effect, also if a later one fails or the caller leaves. */
  onWritten(audit: PatchAudit, user: { name: string; uid: string }): void;
}

/** `UserPatched` if the spec was changed, the user was unlocked, or the user's access was ended. */
type PatchAudit = 'UserPatched' | 'PasswordChanged' | 'PasswordReset';

interface Patched {
  user: KubernetesObject;
  warnings: readonly string[];
  /** True if the user changed the own password. */
  isOwnPassword: boolean;
}

/** Requested change and the rights that it requires. */
interface RequestedChange {
  isSelf: boolean;
  setsPassword: boolean;
  /** Requires the right to patch the user. */
  needsPatch: boolean;
  /** Changes whether the user may log in: disables, enables, or sets the validity. */
  switches: boolean;
}

interface Write {
  caller: Caller;
  requested: RequestedChange;
  isDryRun: boolean;
  signal: AbortSignal;
  /** Refuses the write if another writer was faster. */
  isOfVersion: boolean;
}

/** Refusal that no RBAC rule lifts: a user who is locked, or about to be, needs another administrator. */
const ownRecord = { reason: 'OwnRecord', message: 'your own account is disabled, enabled or unlocked by another administrator' };

const own = new Set(['username', 'password', 'old_password']);

/** Patches a User. Users change their own display name and password. Other members require rights. */
export class UserPatcher {
  readonly #context: UsersContext;
  readonly #records: UserRecords;
  readonly #status: UserStatusWriter;

  constructor(context: UsersContext) {
    this.#context = context;
    this.#records = new UserRecords(context.services.client);
    this.#status = new UserStatusWriter(context.services);
  }

  /**
   * Checks all rights first, then the whole request, then writes the record, the end of access and the password. A repeated patch completes
   * an interrupted one.
   *
   * @throws StatusError 400, 403, 404, 409, 422, 429, 503, 504
   */
  async patch(request: PatchRequest, caller: Caller, signal: AbortSignal): Promise<Patched> {
    const { name, isJsonPatch, isDryRun } = request;
    const { patch, tests } = isJsonPatch
      ? mergePatchOf(request.body, { group: userResource.group, kind: 'User' })
      : { patch: request.body, tests: [] };
    const object = await this.#records.readInstalled(name, signal);
    const account = object && accountOf(object);
    const requested = requestedChange(patch, account, caller);
    if (requested.setsPassword) requireNoAccessToken(requested.isSelf ? 'ownPassword' : 'passwordReset', caller);
    await this.#requireRights(requested, name, account, caller, signal);
    if (object === undefined || account === undefined) throw notFound(userResource, name);
    const { body, password, oldPassword, warnings } = await this.#read({ ...request, body: patch }, account, requested);
    checkVersion(object, body, request.ifMatch);
    if (tests.length > 0) checkServed(object, tests);
    const leaving = disablingField(body);
    if (leaving !== undefined) await this.#context.administrators.requireAnother(account, leaving, signal);
    const attempt = { account, password, oldPassword, requested, origin: request.origin, isDryRun };
    const passwordChangedAt = await this.#checkPassword(attempt, signal);
    const spec = specChanges(object, body, this.#context.services.now());
    const isWritten = spec !== undefined;
    const isOfVersion = requiresVersion(body.metadata, request.ifMatch);
    const write = (held: AbortSignal) => {
      const how = { caller, requested, isDryRun, signal: held, isOfVersion: isOfVersion || tests.length > 0 };
      return isOfVersion || tests.length === 0 ? this.#write(object, spec, how) : this.#writeTested(object, body, tests, how);
    };
    const changed = await (leaving === undefined || isDryRun
      ? write(signal)
      : this.#context.administrators.leaving(account, leaving, write, signal));
    if (isDryRun) return { user: changed, warnings, isOwnPassword: false };
    if (isWritten) request.onWritten('UserPatched', account);
    const user = await this.#applySideEffects(changed, { request, body, account, password, passwordChangedAt, requested, isWritten });
    await this.#context.accounts.watch.waitForWrite(user.metadata.resourceVersion, signal);
    return { user, warnings, isOwnPassword: password !== undefined && requested.isSelf };
  }

  async #requireRights(
    requested: RequestedChange,
    name: string,
    account: Account | undefined,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<void> {
    const { services, rights } = this.#context;
    if (!requested.isSelf && caller.mustChangePassword) throw passwordDue();
    if (requested.isSelf && requested.switches)
      throw forbidden({ ...userResource, verb: 'patch', name, user: caller.identity.name }, [ownRecord]);
    if (requested.needsPatch) await services.access.require(caller, { ...userResource, verb: 'patch', name }, signal);
    if (requested.isSelf) return;
    if (requested.setsPassword)
      await services.access.require(caller, { ...userResource, subresource: 'password', verb: 'update', name }, signal);
    if (account === undefined) return;
    if (requested.setsPassword) await rights.requireForPassword(caller, account, signal);
    // The admission policy has the same rule, but an API server may lack it.
    if (requested.needsPatch && account.isAdmin) await rights.requireImpersonation(caller, account.subjectName || account.email, signal);
    if (requested.setsPassword) requireRecentLogin('passwordReset', caller, services.config.login.stepUp, services.now());
  }

  /** Reads the body, and reports all violations at once. */
  async #read({ name, body, fieldValidation }: PatchRequest, account: Account, { isSelf, setsPassword }: RequestedChange) {
    const { newPasswords } = this.#context;
    const { spec: given = {} } = partsOf(body);
    const username = typeof given.username === 'string' ? given.username : account.username;
    const sent = typeof given.password === 'string' ? given.password : undefined;
    const alsoWrong = nameViolations(given.username, account.email);
    const user = { email: account.email, username };
    const fresh = sent === undefined ? undefined : await newPasswords.read(sent, 'spec.password', user);
    if (account.connectorType !== 'local' && setsPassword)
      alsoWrong.push(forbiddenField('spec.password', 'the user is not local: the password is kept at the source'));
    else alsoWrong.push(...(fresh?.violations ?? []));
    const isOldMissing = isSelf && setsPassword && given.old_password === undefined;
    if (isOldMissing) alsoWrong.push(required('spec.old_password', 'give the old password to change your own'));
    const old =
      typeof given.old_password === 'string' && isSelf ? await newPasswords.open(given.old_password, 'spec.old_password') : undefined;
    alsoWrong.push(...(old?.violations ?? []));
    const secretFields = ['spec.password', 'spec.old_password'];
    const rules = { group: userResource.group, kind: 'User', name, fieldValidation, secretFields, alsoWrong };
    const { object, warnings } = readObject(userPatchBody, body, rules);
    if (object.metadata?.name !== undefined && object.metadata.name !== name)
      throw badRequest(`metadata.name: must be ${name}, as in the path`);
    return { body: object, password: fresh?.password, oldPassword: old?.password ?? '', warnings };
  }

  /**
   * Checks the new password against the stored one, and the old password of users who change their own. A dry run does neither, because it
   * counts no attempts and so would permit unlimited guesses.
   *
   * @returns the time of the verified password, for users who change their own
   */
  async #checkPassword(
    given: {
      account: Account;
      password: string | undefined;
      oldPassword: string;
      requested: RequestedChange;
      origin: AuditOrigin;
      isDryRun: boolean;
    },
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { passwordCheck } = this.#context;
    const { account, password, oldPassword, requested, origin, isDryRun } = given;
    if (password === undefined) return undefined;
    const { name, email, uid } = account;
    const refuse = (error: FieldError) => invalid({ group: userResource.group, kind: 'User', name }, [error]);
    const same = invalidValue('spec.password', '***', 'must differ from the old password');
    if (isDryRun) {
      if (requested.isSelf && password === oldPassword) throw refuse(same);
      return undefined;
    }
    if (requested.isSelf) {
      const verdict = await passwordCheck.check({ email, password: oldPassword, ...origin }, signal, 'PasswordCheckFailed');
      if (verdict.outcome === 'refused' && verdict.retryAfterSeconds !== undefined)
        throw tooManyRequests('too many wrong passwords from this address, try again later', verdict.retryAfterSeconds);
      if (verdict.outcome === 'refused') throw refuse(invalidValue('spec.old_password', '***', 'is not the password'));
      if (password === oldPassword) throw refuse(same);
      return verdict.passwordChangedAt;
    }
    if (await passwordCheck.isCurrent({ name, uid }, password, signal)) throw refuse(same);
    return undefined;
  }

  /**
   * Writes with the caller's rights if the change requires them. Changes that users may make to their own record are written with the
   * service account.
   */
  async #write(
    object: KubernetesObject,
    changes: { spec: Record<string, unknown>; labels: Record<string, string> | undefined } | undefined,
    { caller, requested, isDryRun, signal, isOfVersion }: Write,
  ): Promise<KubernetesObject> {
    if (changes === undefined) return object;
    const { apiServer } = this.#context.services;
    const { name, resourceVersion } = object.metadata;
    const { spec, labels } = changes;
    const metadata = { ...(isOfVersion && { resourceVersion }), uid: object.metadata.uid, ...(labels && { labels }) };
    const change = { metadata, spec };
    const options = { isDryRun, signal };
    if (requested.needsPatch) return new CallerResource(apiServer.asCaller(caller), userKind).patch(name, change, options);
    const written = await new ServiceResource(apiServer.asService, userKind).patch(name, change, options);
    if (written === 'gone') throw notFound(userResource, name);
    if (written === 'conflict') throw modified(name);
    return written;
  }

  /** Retries after conflicts, and repeats the tests on each version. Callers who named no version only learn of conflicts that persist. */
  async #writeTested(found: KubernetesObject, body: UserPatch, tests: readonly PatchTest[], how: Write): Promise<KubernetesObject> {
    const { name, uid } = found.metadata;
    let object = found;
    const written = await retryOnConflict(async () => {
      try {
        return await this.#write(object, specChanges(object, body, this.#context.services.now()), how);
      } catch (error) {
        if (!(error instanceof StatusError && error.status.code === 409)) throw error;
        const current = await this.#records.read(name, how.signal);
        if (current === undefined || current === 'notInstalled' || current.metadata.uid !== uid) throw error;
        checkServed(current, tests);
        object = current;
        return undefined;
      }
    }, how.signal);
    if (written === undefined) throw modified(name);
    return written;
  }

  /** Writes the consequences in the status with the service account, and the password. */
  async #applySideEffects(
    object: KubernetesObject,
    given: {
      request: PatchRequest;
      body: UserPatch;
      account: Account;
      password: string | undefined;
      passwordChangedAt: string | undefined;
      requested: RequestedChange;
      isWritten: boolean;
    },
  ): Promise<KubernetesObject> {
    const { passwordChange, endAccess, services } = this.#context;
    const { request, body, account, password, passwordChangedAt, requested, isWritten } = given;
    const { uid, name } = account;
    const time = services.now();
    const { spec = {} } = body;
    const isSwitchedOff = spec.is_disabled === true || hasPassed(spec.expired?.end, time);
    const status = spec.is_disabled === false ? { activatedTime: timestamp(time), ...noFailures } : {};
    let user = object;
    if (isSwitchedOff) user = await endAccess({ user: { name, uid } }, 'AccountDisabled');
    else if (requested.switches) user = await this.#status.patch({ name, uid }, status);
    if (requested.switches && !isWritten) request.onWritten('UserPatched', account);
    if (password === undefined) return user;
    if (passwordChangedAt === undefined) {
      const mustChange = services.config.users.passwordPolicy.changeAfterReset;
      const reset = await passwordChange.reset({ name, uid }, password, { mustChange });
      request.onWritten('PasswordReset', account);
      return reset;
    }
    const verdict = await passwordChange.change({ name, uid, passwordChangedAt }, password);
    if (verdict.outcome !== 'changed') throw conflict(userResource, name, 'another request changed the password at the same time');
    request.onWritten('PasswordChanged', account);
    const changed = await this.#records.read(name, neverAborts);
    return changed === undefined || changed === 'notInstalled' ? user : changed;
  }
}

function requestedChange(patch: unknown, account: Account | undefined, caller: Caller): RequestedChange {
  const { spec = {} } = partsOf(patch);
  const fields = Object.keys(spec);
  const isOwn = isSelf(account, caller);
  const setsPassword = 'password' in spec;
  const beyond = fields.filter((field) => (isOwn ? !own.has(field) : field !== 'password' && field !== 'old_password'));
  return {
    isSelf: isOwn,
    setsPassword,
    needsPatch: beyond.length > 0 || (!isOwn && !setsPassword),
    switches: 'is_disabled' in spec || 'expired' in spec,
  };
}

/** Returns how the patch may keep the user from logging in, or undefined if it cannot. Any new validity counts. */
function disablingField({ spec = {} }: UserPatch): string | undefined {
  if (spec.is_disabled === true) return 'disabled';
  return spec.expired ? 'made to expire' : undefined;
}

function checkVersion({ metadata }: KubernetesObject, { metadata: asked }: UserPatch, ifMatch: string | undefined): void {
  if (isVersionAsked(metadata, asked, ifMatch)) return;
  throw modified(metadata.name);
}

const modified = (name: string) =>
  conflict(userResource, name, 'the object has been modified; please apply your changes to the latest version and try again');

const checkServed = (object: KubernetesObject, tests: readonly PatchTest[]): void =>
  checkTests(JSON.parse(servedText(object)), tests, { group: userResource.group, kind: 'User', name: object.metadata.name });

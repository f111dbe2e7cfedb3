/** Changes of users. Users change their own display name and password. Other members require rights. */
import type { Caller } from '@atrium/http/caller.ts';
import { timestamp } from '@atrium/kubernetes/clock.ts';
import { neverAborts } from '@atrium/kubernetes/deadline.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { type FieldError, forbidden as forbiddenField, invalidValue, required } from '@atrium/objects/field-error.ts';
import { partsOf } from '@atrium/objects/reader.ts';
import { conflict, forbidden, invalid, passwordDue, tooManyRequests } from '@atrium/objects/status.ts';
import { type ObjectRules, readObject } from '@atrium/objects/validation.ts';
import type { AuthorizedPatch, BegunPatch, PatchStrategy, UnreadPatch } from '../collection/standard-writes.ts';
import { requireNoAccessToken, requireRecentLogin } from '../step-up/sensitive-writes.ts';
import type { UsersContext } from './context.ts';
import { noFailures } from './logins/lockout.ts';
import { type Account, accountOf } from './record/account.ts';
import { UserRecords } from './record/records.ts';
import { userResource } from './record/schema.ts';
import { isSelf } from './record/subject-name.ts';
import { servedText } from './row.ts';
import { UserStatusWriter } from './status.ts';
import { hasPassed, nameViolations, secretFields, type UserPatch, userChanges, userPatchBody } from './user-body.ts';

/** Rules of changes of users. */
export const patchStrategy = (context: UsersContext): PatchStrategy<UserPatch> => ({
  body: userPatchBody,
  serve: (object) => JSON.parse(servedText(object)),
  changesOf: (object, patch) => userChanges(object, patch, context.services.now()),
  async authorize(patch, object) {
    const account = object && accountOf(object);
    const requested = requestedChange(patch.body, account, patch.caller);
    await requireRights(context, requested, account, patch);
    return account === undefined ? {} : new UserChange(context, patch, account, requested);
  },
});

/** Requested change and the rights that it requires. */
interface RequestedChange {
  isSelf: boolean;
  setsPassword: boolean;
  /** Changes the tokens that a machine user trusts. */
  setsFederation: boolean;
  /** Requires the right to patch the user. */
  needsPatch: boolean;
  /** Changes whether the user may log in: disables, enables, or sets the validity. */
  switches: boolean;
}

/** Refusal that no RBAC rule lifts: a user who is locked, or about to be, needs another administrator. */
const ownRecord = { reason: 'OwnRecord', message: 'your own account is disabled, enabled or unlocked by another administrator' };

const own = new Set(['username', 'password', 'old_password']);

/** Requires the rights to a change, whether or not the user exists. @throws StatusError 401, 403, 409, 503 */
async function requireRights(
  { services, rights }: UsersContext,
  requested: RequestedChange,
  account: Account | undefined,
  { request: { name }, caller, signal }: UnreadPatch,
): Promise<void> {
  if (requested.setsFederation) requireNoAccessToken('federation', caller);
  if (requested.setsPassword) requireNoAccessToken(requested.isSelf ? 'ownPassword' : 'passwordReset', caller);
  if (!requested.isSelf && caller.mustChangePassword) throw passwordDue();
  if (requested.isSelf && requested.switches)
    throw forbidden({ ...userResource, verb: 'patch', name, user: caller.identity.name }, [ownRecord]);
  if (requested.needsPatch) await services.access.require(caller, { ...userResource, verb: 'patch', name }, signal);
  if (requested.isSelf) return;
  if (requested.setsPassword)
    await services.access.require(caller, { ...userResource, subresource: 'password', verb: 'update', name }, signal);
  if (account === undefined) return;
  if (requested.setsFederation && account.federation) {
    await rights.requireImpersonation(caller, account.subjectName, signal);
    requireRecentLogin('federation', caller, services.config.login.stepUp, services.now());
  }
  if (requested.setsPassword) await rights.requireForPassword(caller, account, signal);
  // The admission policy has the same rule, but an API server may lack it.
  if (requested.needsPatch && account.isAdmin) await rights.requireImpersonation(caller, account.subjectName || account.email, signal);
  if (requested.setsPassword) requireRecentLogin('passwordReset', caller, services.config.login.stepUp, services.now());
}

/** Change of a user. All rights are checked first, then the whole request. A repeated patch completes an interrupted one. */
class UserChange implements AuthorizedPatch<UserPatch> {
  readonly #context: UsersContext;
  readonly #unread: UnreadPatch;
  readonly #account: Account;
  readonly #requested: RequestedChange;

  constructor(context: UsersContext, unread: UnreadPatch, account: Account, requested: RequestedChange) {
    this.#context = context;
    this.#unread = unread;
    this.#account = account;
    this.#requested = requested;
  }

  /** Reads the body, decrypts the passwords, and reports all violations at once. @throws StatusError 400, 422, 503 */
  async read(rules: ObjectRules) {
    const { newPasswords } = this.#context;
    const account = this.#account;
    const { body } = this.#unread;
    const { isSelf: isOwn, setsPassword } = this.#requested;
    const { spec: given = {} } = partsOf(body);
    const username = typeof given.username === 'string' ? given.username : account.username;
    const sent = typeof given.password === 'string' ? given.password : undefined;
    const alsoWrong = nameViolations(given.username, account.email);
    const user = { email: account.email, username };
    const fresh = sent === undefined ? undefined : await newPasswords.read(sent, 'spec.password', user);
    if (this.#requested.setsFederation && account.federation === undefined)
      alsoWrong.push(forbiddenField('spec.federation', 'only a machine user has trusted tokens, and a person never becomes one'));
    if (account.connectorType !== 'local' && setsPassword)
      alsoWrong.push(forbiddenField('spec.password', 'the user is not local: the password is kept at the source'));
    else alsoWrong.push(...(fresh?.violations ?? []));
    const isOldMissing = isOwn && setsPassword && given.old_password === undefined;
    if (isOldMissing) alsoWrong.push(required('spec.old_password', 'give the old password to change your own'));
    const old =
      typeof given.old_password === 'string' && isOwn ? await newPasswords.open(given.old_password, 'spec.old_password') : undefined;
    alsoWrong.push(...(old?.violations ?? []));
    const { object: patch, warnings } = readObject(userPatchBody, body, { ...rules, secretFields, alsoWrong });
    const passwords = { ...(fresh && { password: fresh.password }), ...(old && { old_password: old.password }) };
    return { object: { ...patch, ...(patch.spec && { spec: { ...patch.spec, ...passwords } }) }, warnings };
  }

  /** @throws StatusError 409 for the last administrator, 422, 429, 503, 504 */
  async begin(patch: UserPatch): Promise<BegunPatch> {
    const { administrators } = this.#context;
    const { request, signal } = this.#unread;
    const account = this.#account;
    const leaving = disablingField(patch);
    if (leaving !== undefined) await administrators.requireAnother(account, leaving, signal);
    const passwordChangedAt = await this.#checkPassword(patch);
    return {
      asService: !this.#requested.needsPatch,
      ...(leaving !== undefined && !request.isDryRun && { run: (write) => administrators.leaving(account, leaving, write, signal) }),
      finish: (object, isWritten) => this.#finish(object, isWritten, patch, passwordChangedAt),
    };
  }

  /**
   * Checks the new password against the stored one, and the old password of users who change their own. A dry run does neither, because it
   * counts no attempts and so would permit unlimited guesses.
   *
   * @returns the time of the verified password, for users who change their own
   */
  async #checkPassword({ spec = {} }: UserPatch): Promise<string | undefined> {
    const { passwordCheck } = this.#context;
    const { request, signal } = this.#unread;
    const requested = this.#requested;
    const { name, email, uid } = this.#account;
    const { password, old_password: oldPassword = '' } = spec;
    if (password === undefined) return undefined;
    const refuse = (error: FieldError) => invalid({ group: userResource.group, kind: 'User', name }, [error]);
    const same = invalidValue('spec.password', '***', 'must differ from the old password');
    if (request.isDryRun) {
      if (requested.isSelf && password === oldPassword) throw refuse(same);
      return undefined;
    }
    if (requested.isSelf) {
      const verdict = await passwordCheck.check({ email, password: oldPassword, ...request.origin }, signal, 'PasswordCheckFailed');
      if (verdict.outcome === 'refused' && verdict.retryAfterSeconds !== undefined)
        throw tooManyRequests('too many wrong passwords from this address, try again later', verdict.retryAfterSeconds);
      if (verdict.outcome === 'refused') throw refuse(invalidValue('spec.old_password', '***', 'is not the password'));
      if (password === oldPassword) throw refuse(same);
      return verdict.passwordChangedAt;
    }
    if (await passwordCheck.isCurrent({ name, uid }, password, signal)) throw refuse(same);
    return undefined;
  }

  /** Writes the consequences in the status with the service account, and the password. */
  async #finish(object: KubernetesObject, isWritten: boolean, { spec = {} }: UserPatch, passwordChangedAt: string | undefined) {
    const { passwordChange, endAccess, services } = this.#context;
    const { request } = this.#unread;
    const account = this.#account;
    const { switches } = this.#requested;
    const { uid, name } = account;
    const time = services.now();
    const { password } = spec;
    const isSwitchedOff = spec.is_disabled === true || hasPassed(spec.expired?.end, time);
    const status = spec.is_disabled === false ? { activatedTime: timestamp(time), ...noFailures } : {};
    let user = object;
    if (isSwitchedOff) user = await endAccess({ user: { name, uid } }, 'AccountDisabled');
    else if (switches) user = await new UserStatusWriter(services).patch({ name, uid }, status);
    if (switches && !isWritten) request.onWritten(account);
    if (password === undefined) return { object: user };
    if (passwordChangedAt === undefined) {
      const mustChange = services.config.users.passwordPolicy.changeAfterReset;
      const reset = await passwordChange.reset({ name, uid }, password, { mustChange });
      request.onWritten(account, 'PasswordReset');
      return { object: reset };
    }
    const verdict = await passwordChange.change({ name, uid, passwordChangedAt }, password);
    if (verdict.outcome !== 'changed') throw conflict(userResource, name, 'another request changed the password at the same time');
    request.onWritten(account, 'PasswordChanged');
    const changed = await new UserRecords(services.client).read(name, neverAborts);
    return { object: changed === undefined || changed === 'notInstalled' ? user : changed, endsSession: true };
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
    setsFederation: 'federation' in spec,
    needsPatch: beyond.length > 0 || (!isOwn && !setsPassword),
    switches: 'is_disabled' in spec || 'expired' in spec,
  };
}

/** Returns how the patch may keep the user from logging in, or undefined if it cannot. Any new validity counts. */
function disablingField({ spec = {} }: UserPatch): string | undefined {
  if (spec.is_disabled === true) return 'disabled';
  return spec.expired ? 'made to expire' : undefined;
}

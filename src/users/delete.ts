import type { Caller } from '@atrium/http/caller.ts';
import { nextSecond, sleepUntil } from '@atrium/kubernetes/clock.ts';
import type { KubernetesObject } from '@atrium/kubernetes/resource.ts';
import { CallerResource, ServiceResource } from '@atrium/kubernetes/resource-client.ts';
import { isGone } from '@atrium/kubernetes/upstream-error.ts';
import type { Deleted, Deleter, Deletion } from '@atrium/lists/bulk-delete.ts';
import { conflict, notFound, StatusError } from '@atrium/objects/status.ts';
import type { UsersContext } from './context.ts';
import { MembershipRemover } from './membership-remover.ts';
import { type Account, accountOf } from './record/account.ts';
import { UserRecords } from './record/records.ts';
import { userKind, userResource } from './record/schema.ts';
import { localSubjectName, subjectNamesOf } from './record/subject-name.ts';

/** Timeout of a deletion that has begun. A disconnect of the caller does not end it. */
const finishWithinMs = 120_000;

/** Deletes users with their sessions, tokens, password and memberships. */
export class UserDeleter implements Deleter {
  readonly #context: UsersContext;
  readonly #records: UserRecords;
  readonly #references: MembershipRemover;
  #settledAt = new Date(0);

  constructor(context: UsersContext) {
    const { client } = context.services;
    this.#context = context;
    this.#records = new UserRecords(client);
    this.#references = new MembershipRemover(client);
  }

  /**
   * Deletes the record last. An interrupted deletion leaves the user in place, and a retry completes it. A deletion that has begun
   * continues when the caller disconnects. Otherwise a user could remain whose tokens are revoked.
   *
   * @throws StatusError 403, 404, 409, 503, 504
   */
  async delete(deletion: Deletion, caller: Caller, signal: AbortSignal): Promise<Deleted> {
    const { services, accounts, rights, administrators } = this.#context;
    const { name } = deletion;
    if (deletion.asCaller) await services.access.require(caller, { ...userResource, verb: 'delete', name }, signal);
    const object = await this.#records.readInstalled(name, signal);
    if (object === undefined) throw notFound(userResource, name);
    checkPreconditions(object, deletion);
    const account = accountOf(object);
    const subjectNames = this.#namesOf(account);
    if (subjectNames.includes(caller.identity.name)) throw ownAccount(name);
    if (account.isAdmin) await rights.requireImpersonation(caller, account.subjectName || account.email, signal);
    await administrators.requireAnother(account, 'deleted', signal);
    const bindings = new Set(subjectNames.flatMap((subjectName) => rights.bindingsOf(subjectName)));
    const left = [...bindings].filter(({ userBinding }) => userBinding === undefined).length;
    const { uid } = account;
    const warnings = left > 0 ? [`${left} role bindings still name this user: a later user of the name gets them`] : [];
    await this.#send({ ...deletion, isDryRun: true }, object, caller, signal);
    if (deletion.isDryRun) return { uid, warnings };
    const remove = (held: AbortSignal) => this.#remove(deletion, { object, account, subjectNames }, caller, held);
    signal.throwIfAborted();
    await administrators.leaving(account, 'deleted', remove, AbortSignal.timeout(finishWithinMs));
    // The next list on this replica must not show the user.
    await accounts.watch.waitForWrite(() => accounts.get(name)?.uid !== uid, signal);
    return { uid, warnings };
  }

  async #remove(
    deletion: Deletion,
    { object, account, subjectNames }: { object: KubernetesObject; account: Account; subjectNames: readonly string[] },
    caller: Caller,
    signal: AbortSignal,
  ): Promise<void> {
    const { accounts } = this.#context;
    const { name } = account;
    for (const subjectName of subjectNames) await this.#revoke(subjectName, account, signal);
    // References by name mean the canonical record. They stay when a record that is not canonical is deleted.
    const free = subjectNames.filter((subjectName) => accounts.get(subjectName) === undefined);
    if (account.isCanonical) await this.#references.remove({ name, subjectNames: free }, signal);
    await this.#send(deletion, object, caller, signal).catch((error: unknown) => {
      // The first attempt succeeded although its answer was lost.
      if (!isGone(error, userResource, name)) throw error;
    });
  }

  async #send(
    { asCaller, isDryRun }: Deletion,
    { metadata: { name, uid } }: KubernetesObject,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<void> {
    const { apiServer } = this.#context.services;
    const resource = asCaller
      ? new CallerResource(apiServer.asCaller(caller), userKind)
      : new ServiceResource(apiServer.asService, userKind);
    const options = { preconditions: { uid }, propagationPolicy: 'Background', isDryRun, signal } as const;
    // The precondition names the record by its uid, which makes a retry safe. The tokens have ended by now, so that a lost connection must
    // not end the deletion.
    await resource.delete(name, { ...options, isRepeatable: true });
  }

  /** Resolves when tokens of a new user of the same name are valid. */
  settled(signal: AbortSignal): Promise<void> {
    return sleepUntil(this.#settledAt, this.#context.services.now, signal);
  }

  /** Returns all user names that Kubernetes sees, also those of a record that was created a moment ago. */
  #namesOf(account: Account): readonly string[] {
    const isNew = account.isCanonical && account.connectorType === 'local' && account.subjectName === '';
    const subjectName = isNew ? (localSubjectName(account, this.#context.naming) ?? '') : account.subjectName;
    return subjectNamesOf({ ...account, subjectName });
  }

  async #revoke(subjectName: string, record: Account, signal: AbortSignal): Promise<void> {
    const { services, endAccess } = this.#context;
    const now = services.now();
    this.#settledAt = nextSecond(now);
    await endAccess({ subject: { subjectName, record, now } }, 'UserDeleted', signal);
  }
}

function checkPreconditions({ metadata }: KubernetesObject, { name, preconditions = {} }: Deletion): void {
  const { uid = metadata.uid, resourceVersion = metadata.resourceVersion } = preconditions;
  if (uid !== metadata.uid)
    throw conflict(userResource, name, `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid})`);
  if (resourceVersion !== metadata.resourceVersion)
    throw conflict(
      userResource,
      name,
      `the resource version in the precondition (${resourceVersion}) does not match that of the record (${metadata.resourceVersion})`,
    );
}

const ownAccount = (name: string) =>
  new StatusError(403, 'Forbidden', `users.auth.platform.io "${name}" is forbidden: you cannot delete your own account`, {
    details: { name, group: userResource.group, kind: userResource.resource },
  });

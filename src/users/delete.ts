import { setTimeout as sleep } from 'node:timers/promises';
import { conflict, notFound, StatusError } from '../api/status.ts';
import type { Caller } from '../http/operation.ts';
import type { KubernetesObject } from '../kubernetes/resource.ts';
import { CallerResource, ServiceResource } from '../kubernetes/resource-client.ts';
import { nextSecond } from '../kubernetes/timestamp.ts';
import { seenWithinMs } from '../kubernetes/until.ts';
import type { UsersContext } from './context.ts';
import { type Account, accountOf } from './record/account.ts';
import { UserRecords } from './record/records.ts';
import { userKind, userResource } from './record/resource.ts';
import { localSubjectName, subjectNamesOf } from './record/subject-name.ts';
import { References } from './references.ts';

/** Which user, and what must still be so. */
interface Deletion {
  name: string;
  preconditions?: { uid?: string | undefined; resourceVersion?: string | undefined };
  isDryRun: boolean;
  /** Whether the API server is asked as the caller, or as ourselves: who may delete a selection was asked for the whole of it. */
  asCaller: boolean;
}

export interface Deleted {
  uid: string;
  /** Role bindings of others that still name the user. */
  leftBindings: number;
}

/** For what is left to do once the tokens are ended, also when the caller is gone. */
const finishWithinMs = 120_000;

/** Deletes users with all that goes with them. */
export class UserDeleter {
  readonly #context: UsersContext;
  readonly #records: UserRecords;
  readonly #references: References;
  #settledAt = 0;

  constructor(context: UsersContext) {
    const { client } = context.services;
    this.#context = context;
    this.#records = new UserRecords(client);
    this.#references = new References(client);
  }

  /**
   * The record goes last: whatever ends the work in between, the user is still there, and the next try completes it. What has begun goes on
   * when the caller goes away, so that no user is left without tokens for a request that was given up.
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
    const leftBindings = [...bindings].filter(({ userBinding }) => userBinding === undefined).length;
    const { uid } = account;
    await this.#send({ ...deletion, isDryRun: true }, object, caller, signal);
    if (deletion.isDryRun) return { uid, leftBindings };
    const remove = (held: AbortSignal) => this.#remove(deletion, { object, account, subjectNames }, caller, held);
    signal.throwIfAborted();
    await administrators.leaving(account, 'deleted', remove, AbortSignal.timeout(finishWithinMs));
    // So that the next list here does not show the user.
    await accounts.until(() => accounts.get(name)?.uid !== uid, seenWithinMs, signal);
    return { uid, leftBindings };
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
    // References by name mean the canonical record. They are kept when a record that is not canonical goes.
    const free = subjectNames.filter((subjectName) => accounts.get(subjectName) === undefined);
    if (account.isCanonical) await this.#references.remove({ name, subjectNames: free }, signal);
    await this.#send(deletion, object, caller, signal).catch((error: unknown) => {
      // Of a second try whose first one was heard.
      if (!(error instanceof StatusError && error.status.code === 404)) throw error;
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
    // It names the record by its uid. The tokens are ended by now, so that a lost connection must not be the end of it.
    await resource.delete(name, { ...options, isRepeatable: true });
  }

  /** To be awaited before it is told that users are gone: until then the tokens of the next user of such a name would not count either. */
  async whenSettled(signal: AbortSignal): Promise<void> {
    await sleep(Math.max(0, this.#settledAt - this.#context.services.now().getTime()), undefined, { signal });
  }

  /** Every name that Kubernetes sees, also of a record that was made a moment ago. */
  #namesOf(account: Account): readonly string[] {
    const isNew = account.isCanonical && account.connectorType === 'local' && account.subjectName === '';
    const subjectName = isNew ? (localSubjectName(account, this.#context.naming) ?? '') : account.subjectName;
    return subjectNamesOf({ ...account, subjectName });
  }

  async #revoke(subjectName: string, record: Account, signal: AbortSignal): Promise<void> {
    const { services, endAccess } = this.#context;
    const now = services.now();
    this.#settledAt = nextSecond(now).getTime();
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

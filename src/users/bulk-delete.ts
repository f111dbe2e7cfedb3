import { userResource } from '../accounts/user-resource.ts';
import type { Caller } from '../http/operation.ts';
import { badParameter, badRequest, type StatusCause, StatusError } from '../http/status.ts';
import type { AccessReviews } from '../kubernetes/access.ts';
import type { UserDeleter } from './delete.ts';
import type { UserRow } from './row.ts';
import { fieldPredicate, labelPredicate } from './selection.ts';

const maxNames = 500;
/** Of one request; more would only wait for the API server. */
const atOnce = 8;

/** As asked: in query and body together. */
export interface BulkDeletion {
  names?: readonly string[] | undefined;
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
  isDryRun: boolean;
}

export type DeleteItem =
  | { name: string; status: 'Success'; code: 204 }
  | { name: string; status: 'Failure'; code: number; reason: string; message: string };

export interface BulkDeleterOptions {
  deleter: UserDeleter;
  access: AccessReviews;
  /** All users as they are at that moment. @throws StatusError 503 while they are not known */
  users: (signal: AbortSignal) => Promise<Iterable<UserRow>>;
}

interface Target {
  name: string;
  /** Of a selection: when it was made. */
  uid?: string;
}

/** Deletes named or selected users one by one; what fails for one does not keep the others. */
export class BulkDeleter {
  readonly #options: BulkDeleterOptions;

  constructor(options: BulkDeleterOptions) {
    this.#options = options;
  }

  /**
   * @param onDeleted told of each that was deleted
   * @returns one item for each user, in the order asked
   * @throws StatusError 400, 403 if the right is missing for all of them, 503
   */
  async delete(
    deletion: BulkDeletion,
    caller: Caller,
    onDeleted: (user: { name: string; uid: string }) => void,
    signal: AbortSignal,
  ): Promise<DeleteItem[]> {
    const { deleter, access } = this.#options;
    const asCaller = deletion.names !== undefined;
    const targets = await this.#targets(deletion, caller, signal);
    const items: DeleteItem[] = new Array(targets.length);
    const refusals = new Set<StatusError>();
    const one = async ({ name, uid }: Target): Promise<DeleteItem> => {
      try {
        if (asCaller)
          await access.require(caller, { ...userResource, verb: 'delete', name }, signal).catch((error) => {
            refusals.add(error);
            throw error;
          });
        const deleted = await deleter.delete({ name, preconditions: { uid }, isDryRun: deletion.isDryRun, asCaller }, caller, signal);
        if (!deletion.isDryRun) onDeleted({ name, uid: deleted.uid });
        return { name, status: 'Success', code: 204 };
      } catch (error) {
        return failure(name, error);
      }
    };
    let next = 0;
    const worker = async () => {
      for (let index = next++; index < targets.length; index = next++) {
        signal.throwIfAborted();
        const target = targets[index];
        if (target) items[index] = await one(target);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
    const [refusal] = refusals;
    if (refusal !== undefined && refusals.size === targets.length) throw refusal;
    return items;
  }

  async #targets({ names, labelSelector = '', fieldSelector = '' }: BulkDeletion, caller: Caller, signal: AbortSignal): Promise<Target[]> {
    if (names !== undefined) {
      checkNames(names);
      return names.map((name) => ({ name }));
    }
    const predicates = [labelPredicate(labelSelector), fieldPredicate(fieldSelector)].filter((predicate) => predicate !== undefined);
    if (predicates.length === 0)
      throw badRequest(
        'name users in names, or select them by a labelSelector or fieldSelector that is not empty: there is no way to delete all',
      );
    await this.#options.access.require(caller, { ...userResource, verb: 'deletecollection' }, signal);
    const selected = [...(await this.#options.users(signal))].filter((row) => predicates.every((holds) => holds(row)));
    if (selected.length > maxNames)
      throw badRequest(`the selection holds ${selected.length} users, more than the ${maxNames} that one request may delete: select fewer`);
    return selected.map(({ name, account }) => ({ name, uid: account.uid }));
  }
}

function checkNames(names: readonly string[]): void {
  if (names.length === 0) throw badParameter('names', 'must hold at least one name', 'FieldValueRequired');
  if (names.length > maxNames) throw badParameter('names', `must hold at most ${maxNames} names`, 'FieldValueTooMany');
  const seen = new Set<string>();
  const twice = names.flatMap((name, index): StatusCause[] => {
    if (!seen.has(name)) {
      seen.add(name);
      return [];
    }
    return [{ reason: 'FieldValueDuplicate', message: `Duplicate value: ${JSON.stringify(name)}`, field: `names[${index}]` }];
  });
  if (twice.length > 0) throw badRequest('names holds a name twice', twice);
}

function failure(name: string, error: unknown): DeleteItem {
  if (!(error instanceof StatusError))
    return { name, status: 'Failure', code: 500, reason: 'InternalError', message: 'Internal error occurred' };
  const { code, reason = 'InternalError', message } = error.status;
  return { name, status: 'Failure', code, reason, message };
}

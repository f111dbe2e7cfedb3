import { mapLimit } from '../api/map-limit.ts';
import { badRequest, type StatusError } from '../api/status.ts';
import type { Caller } from '../http/operation.ts';
import type { AccessReviews } from '../kubernetes/access.ts';
import { abortable } from '../kubernetes/deadline.ts';
import type { ResourceType } from '../kubernetes/resource.ts';
import { type BulkItem, type BulkSelection, checkNames, checkSelected, failedItem } from './bulk-request.ts';
import type { ListProperties, ListRow } from './properties.ts';
import { selectionPredicate } from './selection.ts';

/** Concurrent deletions of one request. More of them would only wait for the API server. */
const defaultAtOnce = 8;
/** Shares of the remaining time: after the first one no further object is begun, after the second one the answer is sent. */
const beginningPart = 0.6;
const answeringPart = 0.8;

/** A deletion as requested by query and body together. */
export interface BulkDeletion extends BulkSelection {
  isDryRun: boolean;
}

/** An object to delete, and its preconditions. */
export interface Deletion {
  name: string;
  preconditions?: { uid?: string | undefined; resourceVersion?: string | undefined };
  isDryRun: boolean;
  /**
   * Deletes with the credential of the caller. Otherwise the service's own account deletes, after a check that the caller may delete the
   * selection.
   */
  asCaller: boolean;
}

export interface BulkDeleterOptions<Row> {
  type: ResourceType;
  access: AccessReviews;
  deleter: { delete(deletion: Deletion, caller: Caller, signal: AbortSignal): Promise<{ uid: string }> };
  properties: Pick<ListProperties<Row>, 'selectable'>;
  /** Returns all objects as they are at that moment. @throws StatusError 503 while they are not known */
  rows: (signal: AbortSignal) => Promise<Iterable<Row>>;
  uidOf: (row: Row) => string;
  /** Bound of concurrent deletions of one request. */
  atOnce?: number;
}

/** Bounds of the request. */
interface Asking {
  signal: AbortSignal;
  /** Milliseconds until its deadline. */
  leftMs: number;
}

interface Target {
  name: string;
  /** UID at the time of the selection. Undefined for names. */
  uid?: string;
}

/** Deletes named or selected objects one by one. A failure of one object does not stop the others. */
export class BulkDeleter<Row extends ListRow> {
  readonly #options: BulkDeleterOptions<Row>;

  constructor(options: BulkDeleterOptions<Row>) {
    this.#options = options;
  }

  /**
   * Deletes the objects, and returns in time: objects that were not begun by then are left alone.
   *
   * @param onDeleted called for each deleted object
   * @returns an item for each object, in the order of the request
   * @throws StatusError 400, 403 if the permission is missing for all of them, 503
   */
  async delete(
    deletion: BulkDeletion,
    caller: Caller,
    onDeleted: (object: { name: string; uid: string }) => void,
    { signal, leftMs }: Asking,
  ): Promise<BulkItem[]> {
    const { deleter, access, type, atOnce = defaultAtOnce } = this.#options;
    const lastBeginning = performance.now() + leftMs * beginningPart;
    const answering = AbortSignal.timeout(Math.max(0, Math.round(leftMs * answeringPart)));
    const asCaller = deletion.names !== undefined;
    const targets = await this.#targets(deletion, caller, signal);
    const refusals = new Set<StatusError>();
    const one = async ({ name, uid }: Target): Promise<BulkItem> => {
      if (asCaller)
        await access.require(caller, { ...type, verb: 'delete', name }, signal).catch((error) => {
          refusals.add(error);
          throw error;
        });
      const deleted = await deleter.delete({ name, preconditions: { uid }, isDryRun: deletion.isDryRun, asCaller }, caller, signal);
      if (!deletion.isDryRun) onDeleted({ name, uid: deleted.uid });
      return { name, status: 'Success', code: 204 };
    };
    const items = await mapLimit(atOnce, targets, async (target) => {
      signal.throwIfAborted();
      if (performance.now() > lastBeginning) return timedOutItem(target.name, 'was not begun');
      return abortable(one(target), answering).catch((error: unknown) =>
        answering.aborted ? timedOutItem(target.name, 'may still be under way') : failedItem(target.name, error),
      );
    });
    const [refusal] = refusals;
    if (refusal !== undefined && refusals.size === targets.length) throw refusal;
    return items;
  }

  async #targets({ names, labelSelector = '', fieldSelector = '' }: BulkDeletion, caller: Caller, signal: AbortSignal): Promise<Target[]> {
    const { access, type, properties, rows, uidOf } = this.#options;
    if (names !== undefined) {
      checkNames(names);
      return names.map((name) => ({ name }));
    }
    await access.require(caller, { ...type, verb: 'deletecollection' }, signal);
    const isSelected = selectionPredicate(properties, { labelSelector, fieldSelector });
    if (isSelected === undefined)
      throw badRequest('give names, or select by a labelSelector or fieldSelector that is not empty: there is no way to delete all');
    const selected = [...(await rows(signal))].filter(isSelected);
    checkSelected(selected.length);
    return selected.map((row) => ({ name: row.name, uid: uidOf(row) }));
  }
}

const timedOutItem = (name: string, what: string): BulkItem => ({
  name,
  status: 'Failure',
  code: 504,
  reason: 'Timeout',
  message: `the deletion ${what} when the time of the request was over, ask for it again`,
});

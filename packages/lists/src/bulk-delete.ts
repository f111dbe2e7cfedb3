/** Deletions of many objects: their selection, and the result of each object (docs/contract/users.md). */
import type { Caller } from '@atrium/http/caller.ts';
import { mapLimit } from '@atrium/http/limits/semaphore.ts';
import type { AccessReviews } from '@atrium/kubernetes/access.ts';
import { abortable } from '@atrium/kubernetes/deadline.ts';
import type { ResourceType } from '@atrium/kubernetes/resource.ts';
import { badParameter, badRequest, type StatusCause, StatusError } from '@atrium/objects/status.ts';
import { dryRun } from '@atrium/objects/write-options.ts';
import type { Context } from 'koa';
import { z } from 'zod';
import type { ListProperties, ListRow } from './properties.ts';
import { selectionPredicate } from './query.ts';

/** Concurrent deletions of one request. More of them would only wait for the API server. */
const defaultAtOnce = 8;
/** Shares of the remaining time: after the first one no further object is begun, after the second one the answer is sent. */
const beginningPart = 0.6;
const answeringPart = 0.8;

/** A deletion as requested by query and body together. */
interface BulkDeletion extends BulkSelection {
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

export interface Deleted {
  uid: string;
  /** Texts for the caller of a single deletion. */
  warnings?: readonly string[];
}

/** Deletes objects of a resource. */
export interface Deleter<Result extends Deleted = Deleted> {
  delete(deletion: Deletion, caller: Caller, signal: AbortSignal): Promise<Result>;
  /** Resolves when the deletions so far are in effect. Default: they are in effect at once. */
  settled?(signal: AbortSignal): Promise<void>;
}

export interface BulkDeleterOptions<Row, Result extends Deleted = Deleted> {
  type: ResourceType;
  access: AccessReviews;
  deleter: Deleter<Result>;
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

/** Request of an operation with `bulkQuery` and `bulkBody`. */
interface BulkRequest {
  ctx: Context;
  caller: Caller;
  query: z.output<typeof bulkQuery>;
  body: z.output<typeof bulkBody>;
  signal: AbortSignal;
}

interface Target {
  name: string;
  /** UID at the time of the selection. Undefined for names. */
  uid?: string;
}

interface Told<Result> {
  /** Called for each deleted object. */
  onDeleted: (object: { name: string } & Result) => void;
  /** Called for each object that the caller may not delete. */
  onRefused?: ((error: StatusError) => void) | undefined;
}

/** Deletes named or selected objects one by one. A failure of one object does not stop the others. */
export class BulkDeleter<Row extends ListRow, Result extends Deleted = Deleted> {
  readonly #options: BulkDeleterOptions<Row, Result>;

  constructor(options: BulkDeleterOptions<Row, Result>) {
    this.#options = options;
  }

  /**
   * Deletes the objects, and returns in time: objects that were not begun by then are left alone.
   *
   * @returns an item for each object, in the order of the request
   * @throws StatusError 400, 403 if the permission is missing for all of them, 503
   */
  async delete(
    deletion: BulkDeletion,
    caller: Caller,
    { onDeleted, onRefused }: Told<Result>,
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
          if (error instanceof StatusError && error.status.code === 403) onRefused?.(error);
          throw error;
        });
      const deleted = await deleter.delete({ name, preconditions: { uid }, isDryRun: deletion.isDryRun, asCaller }, caller, signal);
      if (!deletion.isDryRun) onDeleted({ name, ...deleted });
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

  /** Deletes what an operation requests. @throws as `delete` does */
  async requested({ ctx, caller, query, body, signal }: BulkRequest, told: Told<Result>): Promise<BulkItem[]> {
    const deletion = { ...selectionOf(query, body), isDryRun: query.dryRun !== undefined };
    const items = await this.delete(deletion, caller, told, { signal, leftMs: ctx.state.leftMs() });
    await this.#options.deleter.settled?.(signal);
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

const maxNames = 500;

const names = z.array(z.string()).describe('1 to 500 names, without duplicates.');
const selector = (kind: string) => z.string().describe(`Kubernetes ${kind} selector.`);

/** zod drops the description inside of `optional()`. */
const described = (kind: string) => selector(kind).optional().describe(`Kubernetes ${kind} selector.`);

export const bulkBody = z
  .strictObject({
    names: names.optional(),
    labelSelector: selector('label').optional(),
    fieldSelector: selector('field').optional(),
  })
  .optional()
  .meta({ examples: [{ names: ['8c87b489ce35cf2e2f39f80e282cb2e8'] }, { labelSelector: 'team=oncall' }] });

export const bulkQuery = z.object({
  dryRun,
  names: z.array(z.string()).optional().describe('Names as in the body, repeated or separated by commas.'),
  labelSelector: described('label'),
  fieldSelector: described('field'),
});

/** Either names or selectors. */
interface BulkSelection {
  names?: readonly string[] | undefined;
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
}

/** Returns the only selection of a request. @throws StatusError 400 for no selection, or more than one */
function selectionOf(query: BulkSelection, body: BulkSelection = {}): BulkSelection {
  const queryNames = query.names?.flatMap((text) => text.split(','));
  const inQuery = { ...query, ...(queryNames && { names: queryNames }) };
  const given = [
    ...[inQuery.names, body.names].flatMap((found) => (found === undefined ? [] : [{ names: found }])),
    ...[inQuery, body].flatMap(({ labelSelector, fieldSelector }) =>
      labelSelector === undefined && fieldSelector === undefined ? [] : [{ labelSelector, fieldSelector }],
    ),
  ];
  const [selection, more] = given;
  if (selection === undefined || more !== undefined)
    throw badRequest('give names, or select by labelSelector and fieldSelector: one of the two, in the body or in the query');
  return selection;
}

/** Checks the number of names. @throws StatusError 400 for no names, too many, or a duplicate */
function checkNames(given: readonly string[], limit = maxNames): void {
  if (given.length === 0) throw badParameter('names', 'must hold at least one name', 'FieldValueRequired');
  if (given.length > limit) throw badParameter('names', `must hold at most ${limit} names`, 'FieldValueTooMany');
  const seen = new Set<string>();
  const twice = given.flatMap((name, index): StatusCause[] => {
    if (!seen.has(name)) {
      seen.add(name);
      return [];
    }
    return [{ reason: 'FieldValueDuplicate', message: `Duplicate value: ${JSON.stringify(name)}`, field: `names[${index}]` }];
  });
  if (twice.length > 0) throw badRequest('names contains a name twice', twice);
}

/** @throws StatusError 400 */
function checkSelected(count: number): void {
  if (count > maxNames)
    throw badRequest(`the selection contains ${count} objects, more than the ${maxNames} that one request may delete: select fewer`);
}

const item = z.object({
  name: z.string(),
  status: z.enum(['Success', 'Failure']),
  code: z.int(),
  reason: z.string().optional(),
  message: z.string().optional(),
});

type BulkItem = z.output<typeof item>;

function failedItem(name: string, error: unknown): BulkItem {
  if (!(error instanceof StatusError))
    return { name, status: 'Failure', code: 500, reason: 'InternalError', message: 'Internal error occurred' };
  const { code, reason = 'InternalError', message } = error.status;
  return { name, status: 'Failure', code, reason, message };
}

const apiVersion = 'auth.platform.io/v1';

export const bulkDescription =
  'Takes either names or a selector, in body or query. Continues after a failure, and returns a result for each object. Objects that were not reached in time have the result 504.';

const bulkResultSchema = (kind: string) =>
  z
    .object({
      apiVersion: z.literal(apiVersion),
      kind: z.literal(kind),
      total: z.int(),
      succeeded: z.int(),
      failed: z.int(),
      items: z.array(item),
    })
    .meta({ id: kind, examples: [bulkResult(kind, resultExample)] });

export const bulkAnswers = (kind: string) => ({
  200: { description: 'A result for each object, in the requested order.', content: { 'application/json': bulkResultSchema(kind) } },
  403: { description: 'RBAC denies all of them.' },
});

const resultExample: readonly BulkItem[] = [
  { name: '8c87b489ce35cf2e2f39f80e282cb2e8', status: 'Success', code: 204 },
  {
    name: '8c6976e5b5410415bde908bd4dee15df',
    status: 'Failure',
    code: 404,
    reason: 'NotFound',
    message: 'users.auth.platform.io "8c6976e5b5410415bde908bd4dee15df" not found',
  },
];

export function bulkResult(kind: string, items: readonly BulkItem[]) {
  const succeeded = items.filter(({ status }) => status === 'Success').length;
  return { apiVersion, kind, total: items.length, succeeded, failed: items.length - succeeded, items };
}

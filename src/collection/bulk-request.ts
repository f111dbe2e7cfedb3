/** Requests about many objects: their selection, and the result of each object (docs/contract/users.md). */
import { z } from 'zod';
import { badParameter, badRequest, type StatusCause, StatusError } from '../api/status.ts';
import { dryRun } from '../api/write-options.ts';

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
export interface BulkSelection {
  names?: readonly string[] | undefined;
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
}

/** Returns the only selection of a request. @throws StatusError 400 for no selection, or more than one */
export function selectionOf(query: BulkSelection, body: BulkSelection = {}): BulkSelection {
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
export function checkNames(given: readonly string[], limit = maxNames): void {
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
  if (twice.length > 0) throw badRequest('names holds a name twice', twice);
}

/** @throws StatusError 400 */
export function checkSelected(count: number): void {
  if (count > maxNames)
    throw badRequest(`the selection holds ${count} objects, more than the ${maxNames} that one request may delete: select fewer`);
}

const item = z.object({
  name: z.string(),
  status: z.enum(['Success', 'Failure']),
  code: z.int(),
  reason: z.string().optional(),
  message: z.string().optional(),
});

export type BulkItem = z.output<typeof item>;

export function failedItem(name: string, error: unknown): BulkItem {
  if (!(error instanceof StatusError))
    return { name, status: 'Failure', code: 500, reason: 'InternalError', message: 'Internal error occurred' };
  const { code, reason = 'InternalError', message } = error.status;
  return { name, status: 'Failure', code, reason, message };
}

const apiVersion = 'auth.platform.io/v1';

/** Returns the schema of the answer. */
export const bulkResultSchema = (kind: string) =>
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

import { wholeNumber } from '@atrium/http/input.ts';
import type { AnswerDescription } from '@atrium/http/operation.ts';
import { z } from 'zod';
import { filterNames, type ListProperties } from './properties.ts';

/** Limit of a request with `page` and without `limit`. */
export const defaultLimit = 100;
const maxLimit = 1000;
/** Limit of a request without `limit` and `page`. */
export const maxItems = 5000;
const maxSearch = 128;

const oneOf = (names: readonly string[]): string =>
  new Intl.ListFormat('en', { type: 'disjunction' }).format(names.map((name) => `\`${name}\``));

/** Pattern of `sortBy`, of properties whose names are given as patterns. RE2, which Go uses, has no look-around. */
export const sortPattern = (names: readonly string[]): string => {
  const key = `(?:[ad],)?(?:${names.join('|')})`;
  return `^(?:${key}(?:,${key})*)?$`;
};

/** Pattern of one `filterBy`, of properties whose names are given as patterns. */
export const filterPattern = (names: readonly string[]): string => {
  const pair = `(?:${names.join('|')}),(?:[^,\\\\]|\\\\,?)*`;
  return `^(?:${pair}(?:,${pair})*)?$`;
};

const resourceVersion = z
  .string()
  .regex(/^(0|[1-9][0-9]{0,19})?$/, 'must be a resource version that an answer gave')
  .default('')
  .describe('Minimum resource version of the answer. Waits at most 3 seconds for it.');

/** Returns the query of a list (docs/contract/users.md). An empty value of a parameter that is no number counts as missing. */
export const listQuery = (properties: ListProperties<never>) =>
  z.object({
    labelSelector: z.string().default('').describe('Kubernetes label selector.'),
    fieldSelector: z
      .string()
      .default('')
      .describe(`Kubernetes field selector. Fields: ${[...properties.selectable.keys()].join(', ')}.`),
    filterBy: z
      .array(z.string().meta({ pattern: filterPattern(filterNames(properties)) }))
      .default([])
      .describe(
        `\`property,value[,property,value…]\`; a comma in a value is written \`\\,\`. Matches any value of the same property, and all properties. Properties: ${filterNames(properties).join(', ')}.`,
      ),
    search: z
      .string()
      .max(maxSearch, `must have at most ${maxSearch} characters`)
      .default('')
      .describe(
        `Part of ${oneOf(properties.search)}, at most ${maxSearch} characters. Case is ignored. Applies in addition to \`filterBy\`.`,
      ),
    sortBy: z
      .string()
      .meta({ pattern: sortPattern([...properties.sorted.keys()]) })
      .default('')
      .describe(
        `\`a,property\` or \`d,property\` pairs, or properties in the direction of \`order\`. Default: \`${properties.defaultSort}\`. Missing values are last. Ties are ordered by name. Properties: ${[...properties.sorted.keys()].join(', ')}.`,
      ),
    order: z.enum(['asc', 'desc']).default('asc').describe('Direction of properties in `sortBy` without a letter of their own.'),
    limit: wholeNumber({ cap: maxLimit })
      .optional()
      .describe(
        `Maximum number, 1 to ${maxLimit}. A larger number is reduced to ${maxLimit}. Default with \`page\`: ${defaultLimit}. Default without it: ${maxItems}, with \`continue\` and a \`Warning\` if there are more items.`,
      ),
    page: wholeNumber().optional().describe('Number of the page of `limit` items, from 1. Empty past the last page.'),
    continue: z
      .string()
      .default('')
      .describe(
        '`metadata.continue` of the previous page, with the same selectors, filters and order. Excludes `page`. Expires after an hour.',
      ),
    resourceVersion,
  });

export type ListParameters = z.output<ReturnType<typeof listQuery>>;

const listMetadata = z
  .object({
    resourceVersion: z.string().describe('Resource version that this replica has seen.'),
    continue: z.string().describe('Token of the next page. Empty on the last page.'),
    remainingItemCount: z.number().int().describe('Number of items after this page.'),
  })
  .meta({ id: 'PagedListMeta' });

/** Describes the answer to `listQuery` in the OpenAPI document. */
export const listAnswer = (list: z.ZodType): AnswerDescription => ({
  description: 'The list, or a page of it.',
  content: { 'application/json': list },
  headers: { Warning: `Set if the list is cut at ${maxItems} items.` },
});

/** Returns the schema of a list. */
export function listSchema<Item extends z.ZodType>(item: Item, { apiVersion, kind }: { apiVersion: string; kind: string }) {
  const items = item.meta()?.examples ?? [];
  const metadata = { resourceVersion: '51877', continue: 'eyJ2IjoxLCJr…', remainingItemCount: 41 };
  return z
    .object({
      apiVersion: z.literal(apiVersion),
      kind: z.literal(kind),
      metadata: listMetadata,
      total: z.number().int().describe('Number of matches on all pages.'),
      items: z.array(item),
    })
    .meta({ id: kind, examples: [{ apiVersion, kind, metadata, total: 41 + items.length, items }] });
}

import { z } from 'zod';
import { wholeNumber } from '../http/input.ts';
import type { AnswerDescription } from '../http/operation.ts';
import { filterNames } from './filter.ts';
import type { ListProperties } from './properties.ts';

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
  .describe('Waits until this replica has seen at least that version, 3 s at most.');

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
        `\`property,value[,property,value…]\`; a comma in a value is written \`\\,\`. Of the same property any value may fit, different properties must all fit. Properties: ${filterNames(properties).join(', ')}.`,
      ),
    search: z
      .string()
      .max(maxSearch, `must have at most ${maxSearch} characters`)
      .default('')
      .describe(`Part of ${oneOf(properties.search)}, in any case; at most ${maxSearch} characters. With \`filterBy\`, both must fit.`),
    sortBy: z
      .string()
      .meta({ pattern: sortPattern([...properties.sorted.keys()]) })
      .default('')
      .describe(
        `\`a,property\` or \`d,property\` pairs, or bare properties that go by \`order\`; default \`${properties.defaultSort}\`. Missing values are last, ties are in the order of names. Properties: ${[...properties.sorted.keys()].join(', ')}.`,
      ),
    order: z.enum(['asc', 'desc']).default('asc').describe('Direction of bare properties in `sortBy`; the letter of a pair wins.'),
    limit: wholeNumber({ cap: maxLimit })
      .optional()
      .describe(
        `How many at most, 1-${maxLimit}; more counts as ${maxLimit}. Default with \`page\`: ${defaultLimit}. Without either: everything, up to ${maxItems} items; if that is not all, \`continue\` and a \`Warning\` say so.`,
      ),
    page: wholeNumber().optional().describe('Which page of `limit` items, from 1; past the end it is empty.'),
    continue: z
      .string()
      .default('')
      .describe('From the page before; with the same selectors, filters and order. Not with `page`. Lives one hour.'),
    resourceVersion,
  });

export type ListParameters = z.output<ReturnType<typeof listQuery>>;

const listMetadata = z
  .object({
    resourceVersion: z.string().describe('How far this replica has seen the cluster.'),
    continue: z.string().describe('Where to go on; empty on the last page.'),
    remainingItemCount: z.number().int().describe('How many follow this page.'),
  })
  .meta({ id: 'PagedListMeta' });

/** Describes the answer to `listQuery` in the OpenAPI document. */
export const listAnswer = (list: z.ZodType): AnswerDescription => ({
  description: 'The list, or one page of it.',
  content: { 'application/json': list },
  headers: { Warning: `If everything was asked for, and there are more than ${maxItems} items.` },
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
      total: z.number().int().describe('How many match, on all pages.'),
      items: z.array(item),
    })
    .meta({ id: kind, examples: [{ apiVersion, kind, metadata, total: 41 + items.length, items }] });
}

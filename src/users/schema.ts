import { z } from 'zod';
import { filterProperties } from './filter.ts';
import { sortProperties } from './sort.ts';

const defaultLimit = 100;
const maxLimit = 1000;

const count = (what: string) =>
  z
    .string()
    .regex(/^0*[1-9][0-9]*$/, `must be ${what}`)
    .transform((digits) => Math.min(Number(digits), Number.MAX_SAFE_INTEGER));

/** Query of a list of users. An empty value of anything but a number is as good as none. */
export const listQuery = z.object({
  labelSelector: z.string().default('').describe('Kubernetes label selector.'),
  fieldSelector: z
    .string()
    .default('')
    .describe('Kubernetes field selector; `metadata.name` and the selectable fields of the User resource.'),
  filterBy: z
    .array(z.string())
    .default([])
    .describe(
      `\`property,value[,property,value…]\`; a comma in a value is written \`\\,\`. Of the same property any value may fit, different properties must all fit. Properties: ${filterProperties.join(', ')}.`,
    ),
  sortBy: z
    .string()
    .default('')
    .describe(
      `\`a,property\` or \`d,property\` pairs, or bare properties that go by \`order\`; default \`a,username\`. Missing values are last, ties are in the order of names. Properties: ${sortProperties.join(', ')}.`,
    ),
  order: z.enum(['asc', 'desc']).default('asc').describe('Direction of bare properties in `sortBy`; the letter of a pair wins.'),
  limit: count('an integer from 1; more than 1000 counts as 1000')
    .transform((limit) => Math.min(limit, maxLimit))
    .default(defaultLimit)
    .describe('How many at most, 1-1000, default 100; more counts as 1000.'),
  page: count('an integer from 1').optional().describe('Which page of `limit` users, from 1; past the end it is empty.'),
  continue: z
    .string()
    .default('')
    .describe('From the page before; with the same selectors, filters and order. Not with `page`. Lives one hour.'),
  resourceVersion: z
    .string()
    .regex(/^(0|[1-9][0-9]{0,19})?$/, 'must be a resource version that an answer gave')
    .default('')
    .describe('Waits until this replica has seen at least that version, 3 s at most.'),
});

export type ListParameters = z.output<typeof listQuery>;

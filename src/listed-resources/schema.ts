import { liveParameters } from '@atrium/lists/live-list-answer.ts';
import { filterPattern, listQuery, listSchema, sortPattern } from '@atrium/lists/schema.ts';
import { z } from 'zod';
import { rowsApiVersion } from './listed-resource.ts';
import { rowProperties } from './row.ts';

/** Pattern of the name of a column, which the document cannot know. */
const columnName = '[^,]+';
const columnsToo = 'and the columns of the resource';

/** Query of a list. Its columns depend on the resource. */
export const rowsQuery = listQuery(rowProperties([])).extend({
  ...liveParameters,
  filterBy: z
    .array(z.string().meta({ pattern: filterPattern([columnName]) }))
    .default([])
    .describe(
      `\`property,value[,property,value…]\`; a comma in a value is written \`\\,\`. Matches any value of the same property, and all properties. Properties: name, namespace, owner, uid, creationTimestamp, ${columnsToo}. Matches parts of the name and of text columns, and whole values of other columns.`,
    ),
  sortBy: z
    .string()
    .meta({ pattern: sortPattern([columnName]) })
    .default('')
    .describe(
      `\`a,property\` or \`d,property\` pairs, or properties in the direction of \`order\`. Default: \`a,namespace,a,name\`. Missing values are last. Properties: name, namespace, uid, creationTimestamp, owner, ${columnsToo}.`,
    ),
  summary: z
    .string()
    .default('')
    .describe('Column, `namespace` or `owner`: returns the number of objects of each of the 100 most frequent values, in place of rows.'),
});

const value = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const resource = z.object({ group: z.string(), version: z.string(), resource: z.string() });

const row = z
  .object({
    metadata: z.object({
      name: z.string(),
      namespace: z.string().optional(),
      uid: z.string(),
      resourceVersion: z.string(),
      creationTimestamp: z.string().describe('RFC 3339.'),
      labels: z.record(z.string(), z.string()),
    }),
    owner: z.string().optional().describe('Controller of the object, as `Kind/name`.'),
    values: z.record(z.string(), value).describe('Values by column. `null` if the object has no value.'),
  })
  .meta({
    id: 'ResourceRow',
    examples: [
      {
        metadata: {
          name: 'web-7d9c5b8f6-x2x9k',
          namespace: 'shop',
          uid: '0b0f0f6e-3f9c-4a53-8b1f-6a1d8f2f4a11',
          resourceVersion: '51702',
          creationTimestamp: '2026-01-12T08:30:00Z',
          labels: { app: 'web' },
        },
        owner: 'ReplicaSet/web-7d9c5b8f6',
        values: { phase: 'Running', restarts: 0 },
      },
    ],
  });

const list = listSchema(row, { apiVersion: rowsApiVersion, kind: 'ResourceRowList' });
const [example] = list.meta()?.examples ?? [];

const columns = z.array(
  z.object({
    name: z.string(),
    title: z.string().optional().describe('Title of a printer column of the CustomResourceDefinition.'),
    type: z.enum(['string', 'number', 'date', 'boolean']),
  }),
);

const rowList = list
  .extend({
    resource,
    columns,
  })
  .meta({
    id: 'ResourceRowList',
    examples: [
      {
        ...(typeof example === 'object' ? example : {}),
        resource: { group: '', version: 'v1', resource: 'pods' },
        columns: [
          { name: 'phase', type: 'string' },
          { name: 'restarts', type: 'number' },
        ],
      },
    ],
  });

const summarySchema = z
  .object({
    apiVersion: z.literal(rowsApiVersion),
    kind: z.literal('ResourceSummary'),
    metadata: z.object({ resourceVersion: z.string() }),
    total: z.int().describe('Number of matches.'),
    values: z.array(z.object({ value, count: z.int() })).describe('The 100 most frequent values.'),
    other: z.int().describe('Number of objects with another value.'),
  })
  .meta({
    id: 'ResourceSummary',
    examples: [
      {
        apiVersion: rowsApiVersion,
        kind: 'ResourceSummary',
        metadata: { resourceVersion: '51877' },
        total: 42,
        values: [
          { value: 'Running', count: 40 },
          { value: 'Pending', count: 2 },
        ],
        other: 0,
      },
    ],
  });

export const offeredAnswer = z
  .object({
    apiVersion: z.literal(rowsApiVersion),
    kind: z.literal('OfferedResourceList'),
    items: z.array(resource.extend({ columns })),
  })
  .meta({
    id: 'OfferedResourceList',
    examples: [
      {
        apiVersion: rowsApiVersion,
        kind: 'OfferedResourceList',
        items: [{ group: '', version: 'v1', resource: 'pods', columns: [{ name: 'phase', type: 'string' }] }],
      },
    ],
  });

const examples = [rowList, summarySchema].flatMap((schema) => schema.meta()?.examples ?? []);

export const rowsAnswer = z.union([rowList, summarySchema]).meta({ examples });

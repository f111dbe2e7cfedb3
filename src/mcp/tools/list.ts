import { reader } from '@atrium/objects/reader.ts';
import { badParameter, qualified } from '@atrium/objects/status.ts';
import { z } from 'zod';
import { rowsQuery } from '../../listed-resources/schema.ts';
import type { ListsService } from '../../listed-resources/service.ts';
import type { ClusterReads } from '../cluster.ts';
import { cursor, limitOf, namespace, resource } from '../inputs.ts';
import type { Kinds, ServedKind } from '../kinds.ts';
import { type Tool, type ToolAnswer, type ToolCall, tool } from '../tool.ts';

const input = z.strictObject({
  resource,
  namespace: namespace.optional().describe('Namespace. Default: all objects that the user may list.'),
  labelSelector: z.string().max(1024).optional().describe('Label selector of Kubernetes.'),
  filterBy: z
    .array(z.string().max(256))
    .max(10)
    .optional()
    .describe('`column,value` each, such as `status,CrashLoopBackOff`. Finds parts of texts. For kinds with `columns` in the answer.'),
  search: z.string().max(128).optional().describe('Part of a name or of a text column. For kinds with `columns` in the answer.'),
  sortBy: z.string().max(256).optional().describe('`a,column` or `d,column`. For kinds with `columns` in the answer.'),
  limit: limitOf(200, 50),
  cursor,
});
type Input = z.output<typeof input>;

export const listTool = (lists: ListsService, kinds: Kinds, reads: ClusterReads): Tool =>
  tool({
    name: 'list',
    title: 'List objects',
    description: 'Lists objects of a kind with their state and main values. To find broken pods, list pods with filterBy.',
    isReadOnly: true,
    input,
    async run(asked, call) {
      const listed = offeredAs(lists, asked.resource) ?? (await servedAs(lists, kinds, asked.resource, call));
      return 'columns' in listed ? rowsOf(lists, listed, asked, call) : tableOf(reads, listed, asked, call);
    },
  });

type Offered = ReturnType<ListsService['offered']>[number];

/** Returns the list of the service for a plural, which needs no call. */
const offeredAs = (lists: ListsService, text: string): Offered | undefined =>
  lists.offered().find((one) => one.resource === text || qualified(one) === text);

async function servedAs(lists: ListsService, kinds: Kinds, text: string, call: ToolCall) {
  const served = await kinds.get(text, call);
  return offeredAs(lists, qualified(served.type)) ?? served;
}

const readRows = reader(
  z.object({
    metadata: z.object({ continue: z.string() }),
    total: z.number(),
    items: z.array(
      z.object({
        metadata: z.object({ name: z.string(), namespace: z.string(), creationTimestamp: z.string() }),
        owner: z.string(),
        values: z.looseObject({}),
      }),
    ),
  }),
);

/** Lists by the list of the service, whose rows are those of the console. */
async function rowsOf(
  lists: ListsService,
  { columns, ...type }: Offered,
  asked: Input,
  { caller, signal, about }: ToolCall,
): Promise<ToolAnswer> {
  about({ apiGroup: type.group, resource: type.resource, namespace: asked.namespace });
  const { limit, labelSelector = '', filterBy = [], search = '', sortBy = '' } = asked;
  const query = rowsQuery.parse({ labelSelector, filterBy, search, sortBy, limit: String(limit), continue: asked.cursor ?? '' });
  const page = await lists.list({ ...type, ...(asked.namespace !== undefined && { namespace: asked.namespace }) }, query, caller, signal);
  const { items = [], total = 0, metadata } = readRows(JSON.parse(page.bytes.toString()));
  const rows = items.map(({ metadata: { name, namespace: of, creationTimestamp } = {}, owner, values = {} }) => ({
    name,
    ...(of !== undefined && { namespace: of }),
    created: creationTimestamp,
    ...(owner !== undefined && { owner }),
    ...Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null)),
  }));
  return listed(rows, { resource: qualified(type), total, columns: columns.map(({ name }) => name) }, metadata?.continue);
}

const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const readTable = reader(
  z.object({
    metadata: z.object({ continue: z.string(), remainingItemCount: z.number() }),
    columnDefinitions: z.array(z.object({ name: z.string(), priority: z.number() })),
    rows: z.array(z.object({ cells: z.unknown(), object: z.object({ metadata: z.object({ name: z.string(), namespace: z.string() }) }) })),
  }),
);

/** Lists as kubectl does, by the table of the API server. */
async function tableOf(reads: ClusterReads, kind: ServedKind, asked: Input, call: ToolCall): Promise<ToolAnswer> {
  const { type } = kind;
  call.about({ apiGroup: type.group, resource: type.resource, namespace: asked.namespace });
  for (const field of ['filterBy', 'search', 'sortBy'] as const)
    if (asked[field] !== undefined)
      throw badParameter(field, `cannot be used for ${qualified(type)}: use labelSelector`, 'FieldValueForbidden');
  const query = new URLSearchParams({
    limit: String(asked.limit),
    ...(asked.labelSelector !== undefined && { labelSelector: asked.labelSelector }),
    ...(asked.cursor !== undefined && { continue: asked.cursor }),
  });
  const { metadata, columnDefinitions = [], rows = [] } = readTable(await reads.list(kind, asked.namespace, { query, accept }, call));
  const items = rows.map(({ cells, object }) => ({
    name: object?.metadata?.name,
    ...(object?.metadata?.namespace !== undefined && { namespace: object.metadata.namespace }),
    ...Object.fromEntries(
      columnDefinitions.flatMap(({ name = '', priority = 0 }, index): [string, unknown][] =>
        priority > 0 || name === 'Name' || !Array.isArray(cells) ? [] : [[name, cells[index]]],
      ),
    ),
  }));
  const left = metadata?.remainingItemCount;
  return listed(items, { resource: qualified(type), ...(left !== undefined && { total: items.length + left }) }, metadata?.continue);
}

function listed(items: readonly object[], about: object, next: string | undefined): ToolAnswer {
  const isCut = next !== undefined && next !== '';
  return {
    note: isCut
      ? `${items.length} objects, and there are more: call list again with cursor for them.`
      : `${items.length} objects; there are no more.`,
    data: { ...about, items, ...(isCut && { cursor: next }) },
  };
}

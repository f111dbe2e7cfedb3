import { z } from 'zod';
import { searchQuery } from '../../search/schema.ts';
import type { SearchService } from '../../search/search.ts';
import { namespace } from '../inputs.ts';
import { type Tool, tool } from '../tool.ts';

export const searchTool = (search: SearchService): Tool =>
  tool({
    name: 'search',
    title: 'Search objects',
    description: 'Finds objects of many kinds, users and groups by a part of a name, label or image.',
    isReadOnly: true,
    input: z.strictObject({
      text: searchQuery.shape.q,
      kinds: z
        .array(z.string().max(253))
        .max(20)
        .default([])
        .describe('Kinds such as `pods` or `deployments.apps`. Default: all that are searched.'),
      namespace: namespace.optional().describe('Namespace. Default: all in which the user may list.'),
      limit: z.int().min(1).max(20).default(10).describe('Maximum number of objects of each kind, 1 to 20.'),
    }),
    async run({ text, kinds, namespace: of = '', limit }, { caller, signal }) {
      const result = await search.search({ q: text, kinds, namespace: of, limit }, caller, signal);
      const found = result.kinds.filter(({ total }) => total > 0);
      const items = found.flatMap(({ group, resource, items: ofKind }) =>
        ofKind.map(({ metadata: { name, namespace: place }, title, detail, match }) => ({
          resource: group === '' ? resource : `${resource}.${group}`,
          name,
          ...(place !== undefined && { namespace: place }),
          ...(title !== undefined && { title }),
          ...(detail !== undefined && { detail }),
          match: `${match.field}: ${match.text}`,
        })),
      );
      const totals = found.map(({ group, resource, total }) => ({ resource: group === '' ? resource : `${resource}.${group}`, total }));
      const isCut = items.length < found.reduce((sum, { total }) => sum + total, 0);
      const unsearched = result.unsearched.map(({ group, resource, reason }) => ({
        resource: group === '' ? resource : `${resource}.${group}`,
        reason,
      }));
      const more = isCut ? 'There are more: `totals` counts them; search for a longer text, or in a namespace.' : 'There are no more.';
      return {
        note: `${items.length} objects, the best matches of each kind. ${more} Objects of the kinds in \`unsearched\` are unknown.`,
        data: { items, totals, unsearched },
      };
    },
  });

import { z } from 'zod';
import type { AskWhoCan } from '../../explorer/explorer.ts';
import { limitOf, question } from '../inputs.ts';
import type { Kinds } from '../kinds.ts';
import { questionOf } from '../questions.ts';
import { type Tool, tool } from '../tool.ts';

export const whoCanTool = (whoCan: AskWhoCan, kinds: Kinds): Tool =>
  tool({
    name: 'who_can',
    title: 'List who may do something',
    description: 'Lists users, groups and service accounts that may do something by RBAC, each with the binding and role that allow it.',
    isReadOnly: true,
    input: z.strictObject({
      ...question,
      limit: limitOf(100, 50),
      page: z.int().min(1).default(1).describe('Number of the page, from 1.'),
    }),
    async run({ limit, page, ...asked }, call) {
      const { caller, signal } = call;
      const { items, total, complete, notes } = await whoCan(await questionOf(asked, kinds, call), { limit, page }, { caller, signal });
      const more = total > page * limit ? 'There are more: call who_can again with the next page.' : 'There are no more.';
      return { note: `${items.length} of ${total} subjects. ${more}`, data: { total, complete, notes, items } };
    },
  });

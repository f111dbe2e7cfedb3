import { z } from 'zod';
import type { AccessService } from '../../access/service.ts';
import { question } from '../inputs.ts';
import type { Kinds } from '../kinds.ts';
import { questionOf } from '../questions.ts';
import { type Tool, tool } from '../tool.ts';

export const mayITool = (access: AccessService, kinds: Kinds): Tool =>
  tool({
    name: 'may_i',
    title: 'Ask whether you may do something',
    description: 'Asks the API server whether the user may do something, within the rights that the user has lent to you.',
    isReadOnly: true,
    input: z.strictObject(question),
    async run(asked, call) {
      const { caller, signal } = call;
      const spec = { resourceAttributes: await questionOf(asked, kinds, call) };
      const { allowed, denied, reason, explanation } = await access.status(spec, { caller, signal, isExplained: true });
      const isAllowed = allowed && denied !== true;
      return {
        note: isAllowed ? 'Allowed.' : 'Not allowed. The tool why_not explains it.',
        data: { allowed: isAllowed, ...(reason && { reason }), ...(isAllowed && explanation && { explanation }) },
      };
    },
  });

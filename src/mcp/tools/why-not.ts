import { z } from 'zod';
import type { AccessService } from '../../access/service.ts';
import type { AccessAsking } from '../../access-requests/access-requests.ts';
import { question } from '../inputs.ts';
import type { Kinds } from '../kinds.ts';
import { questionOf } from '../questions.ts';
import { type Tool, tool } from '../tool.ts';

/** @param requests undefined for an installation without access requests */
export const whyNotTool = (access: AccessService, requests: AccessAsking | undefined, kinds: Kinds): Tool =>
  tool({
    name: 'why_not',
    title: 'Explain a missing right',
    description:
      'Explains why the user may not do something: roles that would allow it, and roles that the user can ask for with request_access.',
    isReadOnly: true,
    input: z.strictObject(question),
    async run(asked, call) {
      const { caller, signal } = call;
      // The answer is about the user.
      const { scope: _scope, ...person } = caller;
      const attributes = await questionOf(asked, kinds, call);
      const { allowed, denied, reason, explanation } = await access.status(
        { resourceAttributes: attributes },
        { caller: person, signal, isExplained: true },
      );
      if (allowed && denied !== true)
        return {
          note: 'The user may do this. The user may have lent it to you or not: may_i tells, and propose_change shows changes to the user.',
          data: { allowed: true, ...(explanation && { explanation }) },
        };
      const offered = await requests?.options(attributes, person, signal);
      return {
        note: offered?.items.length
          ? 'Not allowed. `requestable` has roles that the user can ask for: ask the user, then call request_access.'
          : 'Not allowed. There is no role that the user can ask for here.',
        data: {
          allowed: false,
          ...(reason && { reason }),
          ...(explanation && { explanation }),
          ...(offered && { requestable: offered.items, openRequests: offered.open }),
        },
      };
    },
  });

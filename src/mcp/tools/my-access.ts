import { membersOf } from '@atrium/objects/members.ts';
import { z } from 'zod';
import type { AccessService } from '../../access/service.ts';
import { namespace } from '../inputs.ts';
import { type Tool, tool } from '../tool.ts';

export const myAccessTool = (access: AccessService): Tool =>
  tool({
    name: 'my_access',
    title: 'List the rights of the user',
    description:
      'Tells who the user is, and the rules that the user has in a namespace. The user may have lent fewer rights to you: ask may_i.',
    isReadOnly: true,
    input: z.strictObject({ namespace: namespace.default('default') }),
    async run({ namespace: of }, { caller, signal }) {
      const { identity, scope: _scope, ...person } = caller;
      // The answer is about the user. The API server is asked nothing else.
      const review = await access.reviewRules(
        { apiVersion: 'authorization.k8s.io/v1', spec: { namespace: of } },
        { ...person, identity },
        signal,
      );
      const { resourceRules, nonResourceRules, incomplete } = membersOf(membersOf(review).status);
      return {
        note:
          incomplete === true
            ? 'The rules of the user in the namespace, as far as the cluster can list them.'
            : 'The rules of the user in the namespace.',
        data: { user: identity.name, groups: identity.groups, namespace: of, resourceRules, nonResourceRules },
      };
    },
  });

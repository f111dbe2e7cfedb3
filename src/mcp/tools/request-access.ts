import type { AccessAsking } from '../../access-requests/access-requests.ts';
import { newRequestBody } from '../../access-requests/request.ts';
import { type Tool, tool } from '../tool.ts';

/** Break-glass and begins that the user has not chosen stay with the console. */
const input = newRequestBody.omit({ breakGlass: true, notBefore: true });

export const requestAccessTool = (requests: AccessAsking): Tool =>
  tool({
    name: 'request_access',
    title: 'Ask for a role',
    description:
      'Asks, in the name of the user, for a role of an access policy, as why_not offers it. Other people decide; nothing is granted by the call. Ask the user before.',
    isReadOnly: false,
    input,
    async run(asked, { ctx, caller, signal, about }) {
      about({ apiGroup: 'auth.platform.io', resource: 'accesspolicies', name: asked.policy });
      const { name, phase } = await requests.request(asked, { ctx, caller, signal });
      about({ apiGroup: 'auth.platform.io', resource: 'accessrequests', name });
      return {
        note: 'The request waits for its approvers. The user sees it in the console.',
        data: { request: name, phase: phase || 'Pending' },
      };
    },
  });

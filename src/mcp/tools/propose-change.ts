import { badParameter, unauthorized } from '@atrium/objects/status.ts';
import { z } from 'zod';
import { changedParts } from '../../change-proposals/changed-parts.ts';
import type { ChangeProposals } from '../../change-proposals/proposals.ts';
import { proposedVerb } from '../../change-proposals/schema.ts';
import { object as objectInput } from '../inputs.ts';
import type { Kinds, ServedKind } from '../kinds.ts';
import { type Tool, tool } from '../tool.ts';

const input = z.strictObject({
  ...objectInput,
  verb: proposedVerb.describe('`patch` changes an object, `create` makes a new one, `delete` deletes one.'),
  patch: z
    .union([z.record(z.string(), z.unknown()), z.array(z.unknown())])
    .optional()
    .describe('For `patch`: a JSON Patch (an array of operations, RFC 6902), or a JSON merge patch (an object, RFC 7396).'),
  object: z.record(z.string(), z.unknown()).optional().describe('For `create`: the object, as in a manifest.'),
  reason: z
    .string()
    .trim()
    .min(1, 'must not be empty')
    .max(300)
    .describe('Reason for the change in one or two sentences, which the user reads before confirming.'),
});

/** @param consoleURL address of the console, with a slash at its end */
export const proposeChangeTool = (proposals: ChangeProposals, kinds: Kinds, consoleURL: string): Tool =>
  tool({
    name: 'propose_change',
    title: 'Propose a change',
    description:
      'Proposes a change of one object to the user. The cluster checks it by a dry run. The user sees the difference in the console, and confirms or rejects it within ten minutes: give the user the URL of the answer. Some changes are made at once, if the user has allowed that; the answer says so.',
    isReadOnly: false,
    input,
    async run({ resource: text, namespace, name, verb, patch, object: created, reason }, call) {
      const { ctx, caller, signal, about } = call;
      const { agent } = caller;
      if (agent === undefined) throw unauthorized({ tokenGiven: true });
      const kind = await kinds.get(text, call);
      const { group: apiGroup, version, resource } = kind.type;
      about({ apiGroup, resource, namespace, name });
      requireFields(kind, { verb, namespace, patch, created });
      const object = { apiGroup, version, resource, kind: kind.kind, ...(kind.isNamespaced && { namespace }), name };
      const body = verb === 'create' ? created : patch;
      const asked = { object, verb, reason, ...(body !== undefined && { body }) };
      const { proposal, change, isMade } = await proposals.propose(asked, { ctx, caller, agent, signal });
      const effect = {
        ...(verb === 'patch' && { changes: changedParts(change.before, change.after) }),
        ...(verb === 'create' && { created: change.after }),
      };
      if (isMade) return { note: 'The change is made: the user has allowed changes of this kind without a confirmation.', data: effect };
      about({ apiGroup: 'auth.platform.io', resource: 'changeproposals', name: proposal.name });
      return {
        note: 'The proposal waits, and nothing has changed yet. The user confirms or rejects it at the URL within ten minutes.',
        data: {
          proposal: proposal.name,
          url: `${consoleURL}proposals/${proposal.name}`,
          expires: new Date(proposal.expiresAt).toISOString(),
          ...effect,
        },
      };
    },
  });

interface Given {
  verb: z.output<typeof proposedVerb>;
  namespace: string | undefined;
  patch: unknown;
  created: unknown;
}

/** @throws StatusError 400 */
function requireFields({ isNamespaced, type }: ServedKind, { verb, namespace, patch, created }: Given): void {
  if (isNamespaced && namespace === undefined)
    throw badParameter('namespace', `is required: ${type.resource} are in namespaces`, 'FieldValueRequired');
  const [needed, other] = verb === 'create' ? (['object', 'patch'] as const) : (['patch', 'object'] as const);
  const given = { patch, object: created };
  if (verb !== 'delete' && given[needed] === undefined) throw badParameter(needed, `is required for ${verb}`, 'FieldValueRequired');
  const surplus = verb === 'delete' && patch !== undefined ? 'patch' : given[other] === undefined ? undefined : other;
  if (surplus !== undefined) throw badParameter(surplus, `has no meaning for ${verb}`, 'FieldValueForbidden');
}

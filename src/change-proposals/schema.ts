import type { ResourceKind } from '@atrium/kubernetes/resource-client.ts';
import { clusterMember, localCluster } from '@atrium/objects/object-schemas.ts';
import { z } from 'zod';

export const proposalKind: ResourceKind = {
  type: { group: 'auth.platform.io', version: 'v1', resource: 'changeproposals' },
  kind: 'ChangeProposal',
};
export const proposalApiVersion = 'auth.platform.io/v1';

export const proposalName = z
  .string()
  .regex(/^cp-[0-9a-f]{32}$/)
  .describe('Name of the proposal.');

export const proposedVerb = z.enum(['create', 'patch', 'delete']);

const agent = z.object({
  client: z.string().describe('Client id of the program.'),
  name: z.string().describe('Name that the program gives itself.'),
  host: z.string().describe('Host that the program is from. Empty for a client of the configuration.'),
});

const object = z.object({
  apiGroup: z.string().describe('Empty for the core group.'),
  version: z.string(),
  resource: z.string(),
  kind: z.string(),
  namespace: z.string().optional(),
  name: z.string(),
});

/** Facts of a proposal, which are sealed, so that no one else can write them. */
export const proposed = z.object({
  name: proposalName,
  user: z.string().describe('Name of the user in Kubernetes.'),
  cluster: z.literal(localCluster),
  agent,
  object,
  verb: proposedVerb,
  reason: z.string(),
  createdAt: z.number(),
  expiresAt: z.number(),
  /** Patch (RFC 7396, or an array of RFC 6902), or new object; missing for a deletion. */
  body: z.union([z.record(z.string(), z.unknown()), z.array(z.unknown())]).optional(),
});
export type Proposed = z.output<typeof proposed>;

/** A proposal and its state. */
export interface Proposal extends Proposed {
  readonly decision: 'Confirmed' | 'Rejected' | undefined;
}

const change = z.object({
  before: z.looseObject({}).optional().describe('Object now. Missing for a creation.'),
  after: z.looseObject({}).optional().describe('Object after the write, as a dry run tells. Missing for a deletion.'),
  resourceVersion: z.string().optional().describe('Version of the object now. Missing for a creation.'),
});
export type Change = z.output<typeof change>;

const refusal = z.object({ code: z.int(), reason: z.string(), message: z.string() });

const agentExample = { client: 'https://agent.example.com/client.json', name: 'Copilot', host: 'agent.example.com' };

export const changeProposalSchema = z
  .object({
    apiVersion: z.literal(proposalApiVersion),
    kind: z.literal('ChangeProposal'),
    metadata: z.object({ name: z.string(), creationTimestamp: z.iso.datetime() }),
    cluster: clusterMember,
    agent: agent.describe('Program that proposes the change.'),
    object: object.describe('Object to change.'),
    verb: proposedVerb,
    reason: z.string().describe('Reason in the words of the program.'),
    expirationTimestamp: z.iso.datetime().describe('Time until which the user can confirm.'),
    phase: z.enum(['Open', 'Confirmed', 'Rejected', 'Expired']),
    change: change.optional().describe('Effect of an open proposal on the object as it is now. Characters without a glyph are escapes.'),
    refusal: refusal.optional().describe('Reason why an open proposal cannot be confirmed as the object is now.'),
  })
  .meta({
    id: 'ChangeProposal',
    examples: [
      {
        ...{ apiVersion: proposalApiVersion, kind: 'ChangeProposal', cluster: localCluster, agent: agentExample, verb: 'patch' },
        metadata: { name: 'cp-0d7a6c1e5c5f4a4e9d3c0b2f5f0f6a11', creationTimestamp: '2026-03-01T11:00:00Z' },
        object: { apiGroup: 'apps', version: 'v1', resource: 'deployments', kind: 'Deployment', namespace: 'shop', name: 'cart' },
        reason: 'The cart needs more memory.',
        expirationTimestamp: '2026-03-01T11:10:00Z',
        phase: 'Open',
        change: {
          before: { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'cart' }, spec: { replicas: 1 } },
          after: { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'cart' }, spec: { replicas: 2 } },
          resourceVersion: '52011',
        },
      },
    ],
  });
export type ShownProposal = z.output<typeof changeProposalSchema>;

export const changeProposalListSchema = z
  .object({
    apiVersion: z.literal(proposalApiVersion),
    kind: z.literal('ChangeProposalList'),
    metadata: z.object({}),
    items: z.array(changeProposalSchema).describe('Newest first, without `change` and `refusal`.'),
  })
  .meta({ id: 'ChangeProposalList', examples: [{ apiVersion: proposalApiVersion, kind: 'ChangeProposalList', metadata: {}, items: [] }] });

export const confirmationBody = z
  .strictObject({
    resourceVersion: z
      .string()
      .min(1)
      .max(128)
      .optional()
      .describe('`change.resourceVersion` that the user has seen. Required unless the proposal creates an object.'),
  })
  .meta({ id: 'ChangeProposalConfirmation', examples: [{ resourceVersion: '52011' }] });

export const rejectionBody = z.strictObject({}).meta({ id: 'ChangeProposalRejection', examples: [{}] });

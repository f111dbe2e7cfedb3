/** Operations of users on what their agents propose. Agents propose by a tool of `/mcp` alone. */
import { type AnswerDescription, type Operation, operation } from '@atrium/http/operation.ts';
import { z } from 'zod';
import type { ChangeProposals } from './proposals.ts';
import {
  changeProposalListSchema,
  changeProposalSchema,
  confirmationBody,
  proposalApiVersion,
  proposalName,
  rejectionBody,
} from './schema.ts';

const json = 'application/json';
const tag = 'agents';
const path = '/auth/v1/changeproposals';
const theProposal: AnswerDescription = { description: 'The proposal.', content: { [json]: changeProposalSchema } };
const noProposal: AnswerDescription = { description: 'The caller has no such proposal.' };
const params = z.object({ name: proposalName });

export const proposalOperations = (proposals: ChangeProposals): Operation[] => [
  operation({
    id: 'ListChangeProposals',
    method: 'GET',
    paths: [path],
    tag,
    summary: 'Lists what agents of the caller have proposed',
    description: 'Open proposals, and those that ended within the last hour.',
    credential: 'required',
    answers: { 200: { description: 'The proposals.', content: { [json]: changeProposalListSchema } } },
    async handle({ ctx, caller, signal }) {
      const items = await proposals.list(caller, signal);
      ctx.body = { apiVersion: proposalApiVersion, kind: 'ChangeProposalList', metadata: {}, items };
    },
  }),
  operation({
    id: 'GetChangeProposal',
    method: 'GET',
    paths: [`${path}/:name`],
    tag,
    summary: 'Shows a proposal, and its effect on the object as it is now',
    credential: 'required',
    params,
    answers: { 200: theProposal, 404: noProposal },
    async handle({ ctx, caller, params: { name }, signal }) {
      ctx.body = await proposals.get(name, caller, signal);
    },
  }),
  operation({
    id: 'ConfirmChangeProposal',
    method: 'POST',
    paths: [`${path}/:name/confirmation`],
    tag,
    summary: 'Makes the proposed change with the rights of the caller',
    credential: 'required',
    params,
    body: confirmationBody,
    answers: {
      200: theProposal,
      403: { description: 'RBAC denies the change, or the caller uses an access token.' },
      404: { description: 'The caller has no such proposal, or the object does not exist.' },
      409: { description: 'The object has changed since the caller saw it, or the proposal is not open.' },
      422: { description: 'The API server refuses the object.' },
    },
    async handle({ ctx, caller, params: { name }, body: { resourceVersion }, signal }) {
      ctx.body = await proposals.confirm(name, resourceVersion, { ctx, caller, signal });
    },
  }),
  operation({
    id: 'RejectChangeProposal',
    method: 'POST',
    paths: [`${path}/:name/rejection`],
    tag,
    summary: 'Ends a proposal without the change',
    credential: 'required',
    params,
    body: rejectionBody,
    answers: {
      200: theProposal,
      403: { description: 'The caller uses an access token.' },
      404: noProposal,
      409: { description: 'The proposal is not open.' },
    },
    async handle({ ctx, caller, params: { name }, signal }) {
      ctx.body = await proposals.reject(name, { ctx, caller, signal });
    },
  }),
];

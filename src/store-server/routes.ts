/** Operations of the audit store, for replicas of the service. The store decides nothing about users: the service asks for their rights. */
import { type AuditStore, auditCounts, auditPage, chainPart, proposal } from '@atrium/audit-store/store.ts';
import { appendBody, chainBody, countBody, proposeBody, queryBody } from '@atrium/audit-store/wire.ts';
import { type Operation, operation } from '@atrium/http/operation.ts';
import type { StoreCallers } from './callers.ts';

const tag = 'events';

export const storeOperations = (store: AuditStore, callers: StoreCallers): Operation[] => [
  operation({
    id: 'AppendEvents',
    method: 'POST',
    paths: ['/v1/events'],
    tag,
    summary: 'Keeps a batch of events; answers when all are on disk',
    description: 'Events whose `auditID` is known are ignored, so that a batch can be sent again.',
    credential: 'required',
    body: appendBody,
    answers: { 204: { description: 'All events are on disk.' } },
    async handle({ ctx, caller, body: { events } }) {
      callers.require(ctx, caller);
      await store.append(events);
      ctx.status = 204;
    },
  }),
  operation({
    id: 'QueryEvents',
    method: 'POST',
    paths: ['/v1/queries'],
    tag,
    summary: 'Lists events, newest first',
    credential: 'required',
    body: queryBody,
    answers: { 200: { description: 'A page of events.', content: { 'application/json': auditPage } } },
    async handle({ ctx, caller, body: { filter, ...page } }) {
      callers.require(ctx, caller);
      ctx.body = await store.list(filter, page);
    },
  }),
  operation({
    id: 'CountEvents',
    method: 'POST',
    paths: ['/v1/counts'],
    tag,
    summary: 'Counts events by one value',
    credential: 'required',
    body: countBody,
    answers: { 200: { description: 'The counts.', content: { 'application/json': auditCounts } } },
    async handle({ ctx, caller, body: { filter, by } }) {
      callers.require(ctx, caller);
      ctx.body = await store.count(filter, by);
    },
  }),
  operation({
    id: 'ReadChain',
    method: 'POST',
    paths: ['/v1/chain'],
    tag,
    summary: 'Returns events in the order of their arrival, with their hashes',
    credential: 'required',
    body: chainBody,
    answers: { 200: { description: 'A part of the chain.', content: { 'application/json': chainPart } } },
    async handle({ ctx, caller, body: { after, limit } }) {
      callers.require(ctx, caller);
      ctx.body = await store.chain(after, limit);
    },
  }),
  operation({
    id: 'ProposeCheckpoints',
    method: 'POST',
    paths: ['/v1/checkpoints'],
    tag,
    summary: 'Proposes checkpoints, and removes expired events up to a kept one',
    credential: 'required',
    body: proposeBody,
    answers: { 200: { description: 'Checkpoints to be signed and kept outside.', content: { 'application/json': proposal } } },
    async handle({ ctx, caller, body: { kept } }) {
      callers.require(ctx, caller);
      ctx.body = await store.propose(kept);
    },
  }),
];

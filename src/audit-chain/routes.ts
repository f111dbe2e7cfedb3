import { compressed, longRunning, type Operation, operation } from '@atrium/http/operation.ts';
import { auditCaller } from '../audit/audit.ts';
import type { Services } from '../services.ts';
import type { AuditChain } from './chain.ts';
import { type CheckpointList, chainLine, checkpointList } from './schema.ts';

const refusals = {
  403: { description: 'The caller may not list audits of the cluster.' },
  404: { description: 'This installation keeps no audit events.' },
};

export const chainOperations = ({ audit }: Services, chain: AuditChain): Operation[] => [
  operation({
    id: 'ListAuditCheckpoints',
    method: 'GET',
    paths: ['/auth/v1/audit/checkpoints'],
    tag: 'audit',
    summary: 'Lists the signed checkpoints of the audit, the oldest first',
    description: 'A checkpoint fixes all events up to its number. Save some of them elsewhere, and verify the audit by them later.',
    credential: 'required',
    before: [compressed],
    answers: { 200: { description: 'The checkpoints, and the keys.', content: { 'application/json': checkpointList } }, ...refusals },
    async handle({ ctx, caller, signal }) {
      const { checkpoints: items, keys } = await chain.checkpoints(caller, signal);
      ctx.body = { apiVersion: 'auth.platform.io/v1', kind: 'AuditCheckpointList', items, keys } as CheckpointList;
    },
  }),
  operation({
    id: 'ReadAuditChain',
    method: 'GET',
    paths: ['/auth/v1/audit/chain'],
    tag: 'audit',
    summary: 'Returns the whole audit with its proof, as lines of JSON',
    description:
      'The first line has the signed checkpoints, their keys, and `newest`, the number of the newest one that the store knows. A line for each event follows, in the order of their arrival. The last line has the number of the last event as `last`; without it the answer is incomplete.',
    credential: 'required',
    before: [longRunning(() => true)],
    answersHead: false,
    answers: { 200: { description: 'The lines.', content: { 'application/x-ndjson': chainLine } }, ...refusals },
    async handle({ ctx, caller, signal }) {
      const lines = await chain.lines(caller, signal);
      audit.record({ ...auditCaller(ctx, caller), audit: 'AuditExported', outcome: 'success', code: 200 });
      ctx.type = 'application/x-ndjson';
      ctx.body = lines;
    },
  }),
];

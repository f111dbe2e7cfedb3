/** Operations of the audit store, for replicas of the service. The store decides nothing about users: the service asks for their rights. */
import { type RecordingStore, recordingPage, recordingParts } from '@atrium/audit-store/recording.ts';
import { type AuditStore, auditCounts, auditPage, chainPart, proposal } from '@atrium/audit-store/store.ts';
import {
  appendBody,
  chainBody,
  countBody,
  foundRecording,
  foundUsage,
  proposeBody,
  queryBody,
  recordingDone,
  recordingIDBody,
  recordingQueryBody,
  recordingReadBody,
  recordingStepBody,
  usageBody,
} from '@atrium/audit-store/wire.ts';
import { type Operation, operation } from '@atrium/http/operation.ts';
import type { z } from 'zod';
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
  question(callers, {
    id: 'QueryEvents',
    paths: ['/v1/queries'],
    summary: 'Lists events, newest first',
    body: queryBody,
    answer: { description: 'A page of events.', schema: auditPage },
    ask: ({ filter, ...page }) => store.list(filter, page),
  }),
  question(callers, {
    id: 'CountEvents',
    paths: ['/v1/counts'],
    summary: 'Counts events by one value',
    body: countBody,
    answer: { description: 'The counts.', schema: auditCounts },
    ask: ({ filter, by }) => store.count(filter, by),
  }),
  question(callers, {
    id: 'ReadChain',
    paths: ['/v1/chain'],
    summary: 'Returns events in the order of their arrival, with their hashes',
    body: chainBody,
    answer: { description: 'A part of the chain.', schema: chainPart },
    ask: ({ after, limit }) => store.chain(after, limit),
  }),
  question(callers, {
    id: 'ProposeCheckpoints',
    paths: ['/v1/checkpoints'],
    summary: 'Proposes checkpoints, and removes expired events that signed ones let it remove',
    body: proposeBody,
    answer: { description: 'Checkpoints to be signed and kept outside.', schema: proposal },
    ask: ({ kept, removable }) => store.propose(kept, { removable }),
  }),
  question(callers, {
    id: 'ReadUsage',
    paths: ['/v1/usage'],
    summary: 'Returns the bytes in use, and their bound',
    body: usageBody,
    answer: { description: 'The room of the store, if it has a bound.', schema: foundUsage },
    ask: async () => ({ usage: await store.usage?.() }),
  }),
  ...recordingOperations(store.recordings, callers),
];

const recordingOperations = (recordings: RecordingStore, callers: StoreCallers): Operation[] => [
  question(callers, {
    id: 'KeepRecording',
    paths: ['/v1/recordings'],
    summary: 'Keeps the state of a recording and its next part; answers when both are on disk',
    body: recordingStepBody,
    answer: { description: 'Whether the recording exists.', schema: recordingDone },
    ask: async (step) => ({ isDone: await recordings.keep(step) }),
  }),
  question(callers, {
    id: 'QueryRecordings',
    paths: ['/v1/recordings/list'],
    summary: 'Lists recordings, newest first',
    body: recordingQueryBody,
    answer: { description: 'A page of recordings.', schema: recordingPage },
    ask: ({ filter, ...page }) => recordings.list(filter, page),
  }),
  question(callers, {
    id: 'FindRecording',
    paths: ['/v1/recordings/get'],
    summary: 'Returns a recording without its output',
    body: recordingIDBody,
    answer: { description: 'The recording, if it exists.', schema: foundRecording },
    ask: async ({ id }) => ({ recording: await recordings.get(id) }),
  }),
  question(callers, {
    id: 'ReadRecording',
    paths: ['/v1/recordings/read'],
    summary: 'Returns parts of a recording',
    body: recordingReadBody,
    answer: { description: 'Parts in their order; none at the end.', schema: recordingParts },
    ask: async ({ id, after }) => ({ parts: await recordings.read(id, after) }),
  }),
  question(callers, {
    id: 'RemoveRecording',
    paths: ['/v1/recordings/delete'],
    summary: 'Deletes a recording',
    body: recordingIDBody,
    answer: { description: 'Whether there was one.', schema: recordingDone },
    ask: async ({ id }) => ({ isDone: await recordings.delete(id) }),
  }),
];

interface Question<Body extends z.ZodType, Answer extends z.ZodType> extends Pick<Operation, 'id' | 'paths' | 'summary'> {
  body: Body;
  answer: { description: string; schema: Answer };
  ask(body: z.output<Body>): Promise<z.output<Answer>>;
}

/** Declares an operation that asks the store. */
function question<Body extends z.ZodType, Answer extends z.ZodType>(
  callers: StoreCallers,
  { answer: { description, schema }, ask, ...declared }: Question<Body, Answer>,
): Operation {
  return operation({
    ...declared,
    method: 'POST',
    tag,
    credential: 'required',
    answers: { 200: { description, content: { 'application/json': schema } } },
    async handle({ ctx, caller, body }) {
      callers.require(ctx, caller);
      ctx.body = await ask(body);
    },
  });
}

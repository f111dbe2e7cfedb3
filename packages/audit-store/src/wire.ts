/** Calls of a store over HTTP: bodies of requests and answers. */
import { z } from 'zod';
import { auditEvent } from './event.ts';
import { recording, recordingFilter, recordingPlace, recordingStep } from './recording.ts';
import { auditDimension, auditFilter, auditPlace, storeUsage } from './store.ts';

/** Events in one request. The reader of JSON bodies bounds names, values and signs, of which an event has some hundred. */
export const maxEvents = 200;
/** Bytes of a request. A single event has 64 KiB at most, because its texts come from the head of a request. */
export const maxBodyBytes = 4 * 1024 * 1024;
/** Events in one answer. */
export const maxListed = 1_000;

/** Members that a newer replica knows are kept. */
export const appendBody = z.strictObject({ events: z.array(auditEvent.loose()).min(1).max(maxEvents) });

export const queryBody = z.strictObject({
  filter: auditFilter,
  limit: z.int().min(1).max(maxListed),
  before: auditPlace.optional(),
});

export const countBody = z.strictObject({ filter: auditFilter, by: auditDimension });

export const chainBody = z.strictObject({ after: z.int().min(0), limit: z.int().min(1).max(maxListed) });

export const proposeBody = z.strictObject({ kept: z.array(z.int().min(1)).max(maxListed), removable: z.int().min(0).optional() });

export const usageBody = z.strictObject({});

export const foundUsage = z.object({ usage: storeUsage.optional() });

export const recordingStepBody = recordingStep;

export const recordingQueryBody = z.strictObject({
  filter: recordingFilter,
  limit: z.int().min(1).max(maxListed),
  before: recordingPlace.optional(),
});

export const recordingIDBody = z.strictObject({ id: z.string() });

export const recordingReadBody = z.strictObject({ id: z.string(), after: z.int().min(0) });

/** Tells that a step was kept, or a recording deleted. */
export const recordingDone = z.object({ isDone: z.boolean() });

export const foundRecording = z.object({ recording: recording.optional() });

/** Name of the store in the tokens of its callers. */
export const storeAudience = 'atrium-audit-store';

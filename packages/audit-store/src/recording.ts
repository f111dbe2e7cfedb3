/** Recordings of shells: what containers printed to users. */
import { z } from 'zod';

const identified = z.object({ username: z.string().min(1), uid: z.string().optional() });

/** A recording without its output. */
export const recording = z
  .object({
    id: z.string().describe('Unique id of the recording.'),
    cluster: z.string().describe('Cluster of the pod; `local` is the one of the service.'),
    user: identified.describe('User of the shell.'),
    objectRef: z
      .object({ namespace: z.string(), name: z.string(), subresource: z.enum(['exec', 'attach']) })
      .describe('Pod, and the way into its container.'),
    container: z.string().optional(),
    command: z.array(z.string()).optional().describe('First 32 words, each of at most 256 characters.'),
    tty: z.literal(true).optional(),
    mode: z.enum(['besteffort', 'required']),
    startedAt: z.iso.datetime().describe('Begin, RFC 3339.'),
    endedAt: z.iso.datetime().optional().describe('End, RFC 3339. Missing while the shell runs, and if its replica was killed.'),
    reason: z
      .string()
      .optional()
      .describe('Set if the output after it is missing: `TooLarge`, or `NotStored` while the store could not be reached.'),
    seconds: z.number().describe('Time from the begin to the last output that is kept.'),
    width: z.int().describe('Columns of the terminal at the begin.'),
    height: z.int().describe('Rows of the terminal at the begin.'),
    bytes: z.int().describe('Bytes of the output that is kept, as lines of the recording.'),
    lostBytes: z.int().describe('Bytes of output that are missing in between.'),
    requestID: z.string().optional().describe('`X-Request-Id` of the request, which its audit events have, too.'),
    session: z.string().optional().describe('Session of the user.'),
    accessToken: z.string().optional().describe('Id of the access token.'),
  })
  .meta({
    id: 'Recording',
    examples: [
      {
        ...{ id: '3c1c6f3e-0c52-4c6e-9d5b-6b3c2e2b8a10', cluster: 'local', user: { username: 'ada@example.com' } },
        objectRef: { namespace: 'shop', name: 'storefront-1', subresource: 'exec' },
        ...{ container: 'web', command: ['sh'], tty: true, mode: 'required' },
        ...{ startedAt: '2026-01-12T10:00:00.000Z', endedAt: '2026-01-12T10:04:12.000Z', seconds: 251.4 },
        ...{ width: 120, height: 40, bytes: 18_231, lostBytes: 0 },
      },
    ],
  });

export type Recording = z.output<typeof recording>;

/** Lines of asciicast, compressed by gzip, as base64. */
const part = z.object({ number: z.int().min(1), lines: z.string() });

export interface RecordingPart extends z.output<typeof part> {
  /** Bytes of the object of a bucket that has the lines, in place of the database. Never leaves the store. */
  objectBytes?: number | undefined;
}

/** The present state of a recording, and its next part. */
export const recordingStep = z.strictObject({
  recording: recording.loose(),
  isNew: z.boolean().describe('Creates the recording. Other steps change nothing if it does not exist.'),
  part: part.optional(),
});

export interface RecordingStep {
  recording: Recording;
  isNew: boolean;
  part?: RecordingPart | undefined;
}

const equal = () => z.string().optional();
const milliseconds = () => z.int().optional();

/** Conditions that all hold. */
export const recordingFilter = z.strictObject({
  cluster: equal(),
  actor: equal(),
  namespace: equal(),
  name: equal(),
  from: milliseconds().describe('Earliest begin, in milliseconds since the epoch.'),
  to: milliseconds().describe('Time before which the shell began, in milliseconds since the epoch.'),
});

export type RecordingFilter = z.output<typeof recordingFilter>;

/** Place in the order of recordings, newest first. */
export const recordingPlace = z.strictObject({ started: z.int(), id: z.string() });

export type RecordingPlace = z.output<typeof recordingPlace>;

export const recordingPage = z.object({ recordings: z.array(recording), last: recordingPlace.optional() });

export interface RecordingPage {
  recordings: Recording[];
  /** Undefined at the end of the recordings. */
  last?: RecordingPlace | undefined;
}

/** Some of the parts of a recording, in their order; none at the end. */
export const recordingParts = z.object({ parts: z.array(part) });

/** Recordings in a store. */
export interface RecordingStore {
  /** Resolves when the step is on disk; to false if the recording does not exist any more. A step can be sent again. */
  keep(step: RecordingStep): Promise<boolean>;
  /** Returns the newest recordings, or those before a place. */
  list(filter: RecordingFilter, page: { limit: number; before?: RecordingPlace | undefined }): Promise<RecordingPage>;
  get(id: string): Promise<Recording | undefined>;
  /** Returns parts after a number, a bounded number of them. */
  read(id: string, after: number): Promise<RecordingPart[]>;
  /** Returns whether there was one. */
  delete(id: string): Promise<boolean>;
}

/** Recordings that are kept. Without a bound all are. */
export interface RecordingRetention {
  /** Time of the last output before which recordings have expired, in milliseconds since the epoch. */
  before?: number | undefined;
  /** Bytes of all recordings, compressed, above which the oldest have expired. */
  maxBytes?: number | undefined;
}

/** A recording beyond a bound. */
export interface ExpiredRecording extends Pick<Recording, 'id' | 'cluster' | 'user' | 'objectRef'> {
  reason: 'Age' | 'Size';
}

/** Recordings in a store that owns its data. */
export interface RecordingDatabase extends RecordingStore {
  /** Returns some of the recordings that have expired: none at the end. */
  expired(retention: RecordingRetention): Promise<ExpiredRecording[]>;
  /** Returns the number of the last part; 0 without parts. */
  lastPart(id: string): Promise<number>;
}

import { recording } from '@atrium/audit-store/recording.ts';
import { wholeNumber } from '@atrium/http/input.ts';
import { z } from 'zod';

const maxItems = 200;

const equal = (what: string) => z.string().min(1).max(253).optional().describe(what);
const time = (what: string) =>
  z.iso.datetime({ offset: true, error: 'must be a time like 2026-01-12T10:00:00Z' }).optional().describe(what);

export const recordingsQuery = z.object({
  cluster: equal('Cluster of the pod; `local` is the one of the service.'),
  actor: equal('User of the shell, by the name in Kubernetes.'),
  namespace: equal('Namespace of the pod.'),
  name: equal('Name of the pod.'),
  from: time('Earliest begin, RFC 3339.'),
  to: time('Time before which the shell began, RFC 3339.'),
  limit: wholeNumber({ cap: maxItems }).default(50).describe(`Maximum number of recordings. A number above ${maxItems} is reduced to it.`),
  continue: z
    .string()
    .regex(/^\d{1,15}\.[-0-9a-f]{36}$/, 'must be `metadata.continue` of an earlier answer')
    .optional()
    .describe('`metadata.continue` of the answer before.'),
});

export type RecordingsParameters = z.output<typeof recordingsQuery>;

export const recordingID = z.object({ id: z.string().min(1).max(64).describe('Id of the recording.') });

const anExample = {
  ...{ apiVersion: 'auth.platform.io/v1', kind: 'RecordingList', metadata: {}, scope: 'All' },
  ...{ directShells: 'NotRecorded', items: [] },
};

export const recordingList = z
  .object({
    apiVersion: z.literal('auth.platform.io/v1'),
    kind: z.literal('RecordingList'),
    metadata: z.object({ continue: z.string().optional().describe('Set if there are older recordings.') }),
    scope: z
      .enum(['All', 'Own'])
      .describe('`Own`: the caller may not list `recordings.auth.platform.io` here, so that only their own shells are searched.'),
    directShells: z
      .enum(['NotRecorded', 'Refused'])
      .describe('Shells that do not come through Atrium. `Refused`: by the admission policy of `audit.refuseDirectShells`.'),
    items: z.array(recording).describe('Newest first.'),
  })
  .meta({ id: 'RecordingList', examples: [anExample] });

export type RecordingList = z.output<typeof recordingList>;

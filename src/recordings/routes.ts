/** Recordings of shells. The proxy makes them. */
import type { Recording } from '@atrium/audit-store/recording.ts';
import { bytes, compressed, longRunning, type Operation, operation } from '@atrium/http/operation.ts';
import { auditCaller } from '../audit/audit.ts';
import type { ReadRecorder } from '../audit/read-events.ts';
import type { Services } from '../services.ts';
import { asciicastType, fileName } from './asciicast.ts';
import { recordingID, recordingList, recordingsQuery } from './schema.ts';
import type { RecordingsService } from './service.ts';

export const recordingOperations = ({ audit }: Services, service: RecordingsService, recorded: ReadRecorder): Operation[] => [
  operation({
    id: 'ListRecordings',
    method: 'GET',
    paths: ['/auth/v1/audit/recordings'],
    tag: 'audit',
    summary: 'Lists recordings of shells, newest first',
    description:
      'Callers who may list `recordings.auth.platform.io`, in the namespace that they name or in the cluster, get the recordings of all users, which is an audit event, `AuditRead`. Others get those of their own shells.',
    credential: 'required',
    before: [compressed],
    query: recordingsQuery,
    answers: {
      200: { description: 'The recordings, without their output.', content: { 'application/json': recordingList } },
      400: { description: 'A parameter is no valid value.' },
      403: { description: '`actor` is another user, and the caller may not list recordings.' },
      404: { description: 'This installation keeps no recordings.' },
    },
    async handle(request) {
      const { ctx, caller, query, signal } = request;
      ctx.body = recorded(request, { view: 'Recordings', ...query }, await service.list(query, caller, signal));
    },
  }),
  operation({
    id: 'GetRecording',
    method: 'GET',
    paths: ['/auth/v1/audit/recordings/:id'],
    tag: 'audit',
    summary: 'Returns the recording of a shell as asciicast v2',
    description: 'Streams the output, and nothing that the user typed. Each read is an audit event, `RecordingRead`.',
    credential: 'required',
    before: [longRunning(() => true)],
    answersHead: false,
    params: recordingID,
    answers: {
      200: { description: 'The recording, for `asciinema play`.', content: { [asciicastType]: bytes } },
      404: { description: 'No such recording exists, or the caller may not read it.' },
    },
    async handle({ ctx, caller, params: { id }, signal }) {
      const { recording, cast } = await service.read(id, caller, signal);
      audit.record({ ...auditCaller(ctx, caller), ...about(recording), audit: 'RecordingRead', outcome: 'success', code: 200 });
      ctx.attachment(fileName(recording));
      ctx.set('Content-Type', asciicastType);
      ctx.body = cast;
    },
  }),
  operation({
    id: 'DeleteRecording',
    method: 'DELETE',
    paths: ['/auth/v1/audit/recordings/:id'],
    tag: 'audit',
    summary: 'Deletes the recording of a shell',
    description: 'Takes the right to delete `recordings.auth.platform.io` in the namespace of the pod, also for own recordings.',
    credential: 'required',
    params: recordingID,
    answers: {
      204: { description: 'The recording is deleted.' },
      403: { description: 'The caller may not delete recordings.' },
      404: { description: 'No such recording exists, or the caller may not read it.' },
    },
    async handle({ ctx, caller, params: { id }, signal }) {
      const recording = await service.delete(id, caller, signal);
      audit.record({ ...auditCaller(ctx, caller), ...about(recording), audit: 'RecordingDeleted', outcome: 'success', code: 204 });
      ctx.status = 204;
    },
  }),
];

const about = ({ id, user, objectRef: { namespace, name } }: Recording) => ({
  ...{ namespace, target: { name: id, uid: '' } },
  shell: { user: user.username, pod: name },
});

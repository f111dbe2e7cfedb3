/** Recordings of shells: what containers print to users, as it comes, into the audit store. */
import type { Operation } from '@atrium/http/operation.ts';
import { readRecorder } from '../audit/read-events.ts';
import type { Services } from '../services.ts';
import { Recorders } from './recorders.ts';
import { recordingOperations } from './routes.ts';
import { type RecordingNeeds, RecordingsService } from './service.ts';

interface Needs extends RecordingNeeds {
  /** Returns the AccessPolicies by which a user has a role now, by the name in Kubernetes. */
  policiesOf(user: string): readonly string[];
}

interface Recordings {
  operations: Operation[];
  /** Begins the recordings of the shells that are passed on. */
  recorders: Recorders;
  stop(): Promise<void>;
}

export function createRecordings(services: Services, needs: Needs): Recordings {
  const recorders = new Recorders(services, needs);
  return {
    operations: recordingOperations(services, new RecordingsService(services, needs), readRecorder(services)),
    recorders,
    stop: () => recorders.stop(),
  };
}

/** Writes at the API server that a request has sent. The audit event of a write takes the id that the API server knows. */
import { currentRequest, type RequestFlow } from './limits/semaphore.ts';

/** Begins of the ids of writes by their account. The audit store joins no other event of the service with one of the API server. */
export const writeMarks = { caller: 'write-', service: 'own-write-' };

export interface SentWrite {
  readonly id: string;
  /** Verb, resource and subresource, such as `patch users` or `patch users/status`. */
  readonly call: string;
  /** Path of the object, or of the list for a creation. */
  readonly path: string;
  /**
   * End of the call, undefined while it is under way. A refused write had no effect. The effect of a lost one is not known: its answer did
   * not come, or could not be read.
   */
  end?: 'done' | 'refused' | 'lost';
  /** True once an event has its id. */
  isTaken?: true;
}

/** Writes of requests, in the order in which they were sent. */
export const sentWrites = new WeakMap<RequestFlow, SentWrite[]>();

/** Returns the id of the last write of the current request to an object, once; undefined if it has sent none. */
export function takeWriteID(call: string, name: string): string | undefined {
  const request = currentRequest();
  const writes = (request && sentWrites.get(request)) ?? [];
  const [, subresource] = call.split('/');
  const end = `/${encodeURIComponent(name)}${subresource === undefined ? '' : `/${subresource}`}`;
  const found = writes.findLast(
    (write) => write.call === call && !write.isTaken && write.end !== 'refused' && (call.startsWith('create ') || write.path.endsWith(end)),
  );
  if (found) found.isTaken = true;
  return found?.id;
}

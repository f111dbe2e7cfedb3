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
  /** True for a write that has no effect, also if its answer is lost. */
  readonly isDryRun: boolean;
}

/** Writes of requests, in the order in which they were sent. */
export const sentWrites = new WeakMap<RequestFlow, SentWrite[]>();

/** Returns the id of the last write of the current request to an object, once; undefined if it has sent none. */
export function takeWriteID(call: string, name: string): string | undefined {
  const request = currentRequest();
  const writes = (request && sentWrites.get(request)) ?? [];
  const [, subresource] = call.split('/');
  const end = `/${encodeURIComponent(name)}${subresource === undefined ? '' : `/${subresource}`}`;
  const isOf = (write: SentWrite) =>
    write.call === call && write.end !== 'refused' && (call.startsWith('create ') || write.path.endsWith(end));
  const index = writes.findLastIndex(isOf);
  return index === -1 ? undefined : writes.splice(index, 1)[0]?.id;
}

/** Writes at the API server that a request has sent as its caller. The audit event of a write takes the id that the API server knows. */
import { randomUUID } from 'node:crypto';
import { currentRequest, type RequestFlow } from './limits/semaphore.ts';

interface SentWrite {
  /** Verb and resource, such as `patch users`. */
  call: string;
  /** Path of the object, or of the list for a creation. */
  path: string;
}

/** Begin of the ids of writes. The audit store joins no other event of the service with one of the API server. */
const mark = 'write-';

const sent = new WeakMap<RequestFlow, (SentWrite & { id: string })[]>();

/** Notes that the current request sends a write. Returns its id; undefined outside of requests. */
export function noteWrite({ call, path }: SentWrite): string | undefined {
  const request = currentRequest();
  if (request === undefined) return undefined;
  const id = `${mark}${randomUUID()}`;
  const writes = sent.get(request) ?? [];
  sent.set(request, writes);
  writes.push({ call, path, id });
  return id;
}

/** Returns the id of the last write of the current request to an object, once; undefined if it has sent none. */
export function takeWriteID(call: string, name: string): string | undefined {
  const request = currentRequest();
  const writes = (request && sent.get(request)) ?? [];
  const isOf = (write: SentWrite) =>
    write.call === call && (call.startsWith('create ') || write.path.endsWith(`/${encodeURIComponent(name)}`));
  const index = writes.findLastIndex(isOf);
  return index === -1 ? undefined : writes.splice(index, 1)[0]?.id;
}

import type { Recording, RecordingDatabase } from '@atrium/audit-store/recording.ts';
import { KeyedSemaphore } from '@atrium/http/limits/semaphore.ts';
import { badRequest } from '@atrium/objects/status.ts';
import type { Bucket } from './bucket.ts';

/** Calls about one recording: a sender has one at a time, and repeats it when a replica does not wait any longer. */
const bounds = { atOnce: 1, maxWaiting: 8, what: 'calls about a recording' };
const turnMs = 10_000;

/** Recordings whose parts are objects of a bucket. The database has their list, and numbers and sizes of their parts. */
export function recordingsInBucket(database: RecordingDatabase, bucket: Pick<Bucket, 'put' | 'get' | 'delete'>): RecordingDatabase {
  const turns = new KeyedSemaphore(bounds);
  /** Makes calls about a recording one after the other: an object that comes during the deletion would stay for ever. */
  const inTurn = <T>(id: string, call: () => Promise<T>) => turns.run(id, call, AbortSignal.timeout(turnMs));
  return {
    keep: ({ recording, isNew, part }) =>
      inTurn(recording.id, async () => {
        const { id, endedAt } = recording;
        if (!isNew && (await database.get(id)) === undefined) return false;
        // A part that is sent again is never replaced.
        const content = part && part.number > (await database.lastPart(id)) ? Buffer.from(part.lines, 'base64') : undefined;
        await Promise.all([
          // A bucket that is not available is noticed before the shell begins.
          isNew || endedAt !== undefined ? bucket.put(aboutKey(id), aboutOf(recording), 'application/json') : undefined,
          part && content && bucket.put(partKey(id, part.number), content, 'application/gzip'),
        ]);
        return database.keep({ recording, isNew, ...(part && content && { part: { ...part, lines: '', objectBytes: content.length } }) });
      }),
    list: database.list,
    get: database.get,
    async read(id, after) {
      const parts = await database.read(id, after);
      return Promise.all(
        parts.map(async ({ number, lines, objectBytes }) => ({
          number,
          // An object that is missing is a damaged part.
          lines: objectBytes === undefined ? lines : ((await bucket.get(partKey(id, number)))?.toString('base64') ?? ''),
        })),
      );
    },
    delete: (id) =>
      inTurn(id, async () => {
        if ((await database.get(id)) === undefined) return false;
        // The database may lack the last object, because its call failed then.
        const count = (await database.lastPart(id)) + 1;
        await bucket.delete([aboutKey(id), ...Array.from({ length: count }, (_, at) => partKey(id, at + 1))]);
        return database.delete(id);
      }),
    expired: database.expired,
    lastPart: database.lastPart,
  };
}

const aboutOf = (recording: Recording): Buffer => Buffer.from(`${JSON.stringify(recording)}\n`);

const aboutKey = (id: string): string => `${folderOf(id)}/recording.json`;

/** Names in the order of the parts. */
const partKey = (id: string, number: number): string => `${folderOf(id)}/${String(number).padStart(8, '0')}.gz`;

/** @throws StatusError 400 for an id that is no name of a folder */
function folderOf(id: string): string {
  if (!/^[\w-]{1,64}$/.test(id)) throw badRequest('the id of a recording must have letters, digits and hyphens alone');
  return id;
}

/**
 * Recordings as files of asciinema.
 *
 * @see https://docs.asciinema.org/manual/asciicast/v2/
 */
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { Recording, RecordingStore } from '@atrium/audit-store/recording.ts';

const inflated = promisify(gunzip);
/** Bound of a part: lines of 256 KiB, or one line of a chunk of output. */
const maxPartBytes = 16 * 1024 * 1024;

export const asciicastType = 'application/x-asciicast';

/** Yields a recording, a part at a time. A part that is missing or damaged, or a removal, ends it with a line that says so. */
export async function* asciicast(store: RecordingStore, recording: Recording): AsyncGenerator<Buffer> {
  const ending = (text: string) => Buffer.from(`${JSON.stringify([recording.seconds, 'm', text])}\n`);
  yield Buffer.from(`${harmless(JSON.stringify(headerOf(recording)))}\n`);
  let last = 0;
  for (;;) {
    const parts = await store.read(recording.id, last);
    if (parts.length === 0) {
      if ((await store.get(recording.id)) === undefined) yield ending('the recording was removed while it was read');
      return;
    }
    for (const { number, lines } of parts) {
      const text = number === last + 1 ? await textOf(lines) : undefined;
      if (text === undefined) {
        yield ending(`part ${last + 1} of the recording is missing or damaged`);
        return;
      }
      last = number;
      yield text;
    }
  }
}

const textOf = (lines: string): Promise<Buffer | undefined> =>
  inflated(Buffer.from(lines, 'base64'), { maxOutputLength: maxPartBytes }).catch(() => undefined);

function headerOf({ width, height, startedAt, user, objectRef: { namespace, name }, container }: Recording) {
  const place = `${namespace}/${name}${container === undefined ? '' : ` (${container})`}`;
  const timestamp = Math.floor(Date.parse(startedAt) / 1000);
  return { version: 2, width, height, timestamp, title: `${user.username} in ${place}` };
}

/** Characters of JSON that a terminal obeys, or that change how a line reads. Files are printed in terminals, too. */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

export const harmless = (json: string): string =>
  json.replaceAll(unsafe, (found) =>
    Array.from({ length: found.length }, (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  );

/** Returns a name for a file. Names of pods have no other characters. */
export const fileName = ({ startedAt, objectRef: { namespace, name } }: Recording): string =>
  `${namespace}-${name}-${startedAt.slice(0, 19).replaceAll(/[-:]/g, '')}.cast`.replaceAll(/[^-.\w]/g, '');
